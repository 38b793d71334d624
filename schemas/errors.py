"""Errors of what travels: every message that can't be read becomes one typed error."""

from enum import StrEnum


class DecodeFailure(StrEnum):
    """Why a message could not be decoded; the value travels in the dead letter's `reason` header."""

    EMPTY = "empty"
    OVERSIZED = "oversized"
    UNKNOWN_SCHEMA = "unknown_schema"
    MALFORMED = "malformed"
    INVALID = "invalid"


class SchemaError(Exception):
    """Root of all errors of `pulsetrain.schemas`."""


class DecodeError(SchemaError):
    """The bytes are no record of the expected type: send them to the dead-letter topic and go on."""

    def __init__(self, failure: DecodeFailure, detail: str) -> None:
        super().__init__(f"{failure.value}: {detail}")
        self.failure = failure
        self.detail = detail


class EncodeError(SchemaError):
    """A record of our own is too large or inconsistent: a fault of the producer, never sent."""
