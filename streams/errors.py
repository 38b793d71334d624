"""Errors of the stream workers."""


class StreamError(Exception):
    """Root of all errors of `pulsetrain.streams`: the message says what was wrong, where, and what to do."""


class TopicsMissingError(StreamError):
    """The topics are not on the broker as the workers need them: run `pulsetrain topics create`."""
