"""What can go wrong in the node agent."""


class AgentError(Exception):
    """Root of all errors of `pulsetrain.agents`."""


class CollectError(AgentError):
    """A source could not be read or understood; its metrics are missing at this tick, the others go on."""


MAX_FAILURE_CHARACTERS = 300

MORE_THREADS = "allow the agent more of them (pids.max of its control group, ulimit -u)"
"""What to do when the system has no thread for us."""

_NO_THREAD = "can't start new thread"
"""What Python says then, in a RuntimeError."""


def failure_of(error: Exception) -> str:
    """What an error of a collector says, with its kind if it is none that collectors raise on purpose.

    It can be sent: a path that is no UTF-8 is escaped, and a text that repeats what was read is cut.
    """
    text = str(error) if isinstance(error, CollectError) else f"{type(error).__name__}: {error}"
    if isinstance(error, RuntimeError) and _NO_THREAD in text:
        text += f"; {MORE_THREADS}"
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= MAX_FAILURE_CHARACTERS else f"{text[:MAX_FAILURE_CHARACTERS]}..."
