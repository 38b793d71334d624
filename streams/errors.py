"""Errors of the stream workers."""


class StreamError(Exception):
    """Root of all errors of `pulsetrain.streams`: the message says what was wrong, where, and what to do."""
