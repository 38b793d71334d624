"""What Kubernetes accepts as the name of an object and as the value of a label, and how any text becomes one.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and .../labels/
"""

import hashlib
import re

MAX_CHARACTERS = 63
"""Of a DNS label, which is what the strictest objects ask for, and of a label's value."""

_DNS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_NOT_IN_DNS_LABEL = re.compile(r"[^-a-z0-9]+")
_NOT_IN_LABEL_VALUE = re.compile(r"[^-A-Za-z0-9_.]+")
_HASH_CHARACTERS = 8


def is_object_name(text: str) -> bool:
    """Whether every kind of object can be named so: a DNS label of RFC 1123."""
    return len(text) <= MAX_CHARACTERS and _DNS_LABEL.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Whether a label can have this value; an empty one is allowed."""
    return len(text) <= MAX_CHARACTERS and _LABEL_VALUE.fullmatch(text) is not None


def object_name(text: str) -> str:
    """The text where it is an object's name already, else what can be kept of it and a hash of the whole text.

    The hash keeps apart what would look alike afterwards, such as `a_b` and `a-b`.
    """
    return text if is_object_name(text) else _with_hash(_NOT_IN_DNS_LABEL.sub("-", text.lower()), text)


def label_value(text: str) -> str:
    """The text where it is a label's value already, else what can be kept of it and a hash of the whole text."""
    return text if is_label_value(text) else _with_hash(_NOT_IN_LABEL_VALUE.sub("-", text), text)


def _with_hash(kept: str, text: str) -> str:
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARACTERS]
    stem = kept[: MAX_CHARACTERS - _HASH_CHARACTERS - 1].strip("-_.")
    return f"{stem}-{digest}" if stem else digest
