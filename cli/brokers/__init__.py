"""The Kafka brokers that Pulsetrain can start itself: one embedded in this process, one Apache Kafka node."""
