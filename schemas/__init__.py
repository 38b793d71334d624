"""What travels: one module a record, the topics, the codec and the metric catalogue."""
