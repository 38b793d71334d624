"""The front door: every command of `pulsetrain`, and the brokers that it can start."""
