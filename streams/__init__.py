"""What runs as Faust workers: pure functions that align, window and extract, and thin agents around them."""
