"""What runs on a node: collectors, their runner and the publisher."""
