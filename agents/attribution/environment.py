"""Job, rank and pod from a process's environment: a few variables by name; all others are passed over unread.

The environment is what the process was started with. Launchers start each worker with its own rank in it.
"""

import re
from collections.abc import Mapping

from pulsetrain.agents.hook.identity import JOB_VARIABLES, RANK_VARIABLES, UNNAMED_JOB

MAX_ENVIRONMENT_BYTES = 256 * 1024
"""What is read of an environment; variables beyond it are not seen."""

_MAX_VALUE_BYTES = 253
"""The longest name of a Kubernetes object; also fits a label."""

_SOURCES: Mapping[str, tuple[bytes, ...]] = {
    "job": tuple(name.encode() for name in JOB_VARIABLES),
    "rank": tuple(name.encode() for name in RANK_VARIABLES),
    "namespace": (b"POD_NAMESPACE",),
    "pod": (b"POD_NAME",),
}
_WANTED = frozenset(variable for variables in _SOURCES.values() for variable in variables)
_RANK = re.compile(r"\d{1,7}")


def labels_in_environ(content: bytes) -> dict[str, str]:
    """The labels of /proc/<pid>/environ, `NAME=value` with a zero byte after each.

    A rank that is no number, an empty value and one that is no printable text of at most 253 bytes are left out.
    """
    found = _wanted(content)
    labels: dict[str, str] = {}
    for label, variables in _SOURCES.items():
        for variable in variables:
            value = _text(found.get(variable, b""))
            if value and _fits(label, value):
                labels[label] = value
                break
    return labels


def _wanted(content: bytes) -> dict[bytes, bytes]:
    content = content[:MAX_ENVIRONMENT_BYTES]
    # What follows the last zero byte was cut off, or is being written.
    whole = content[: content.rfind(b"\0") + 1]
    found: dict[bytes, bytes] = {}
    for entry in whole.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name in _WANTED:
            found.setdefault(name, value)
    return found


def _text(value: bytes) -> str:
    try:
        text = value.decode() if len(value) <= _MAX_VALUE_BYTES else ""
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def _fits(label: str, value: str) -> bool:
    if label == "rank":
        return _RANK.fullmatch(value) is not None
    return label != "job" or value != UNNAMED_JOB
