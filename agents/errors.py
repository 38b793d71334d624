"""What can go wrong in the node agent."""


class AgentError(Exception):
    """Root of all errors of `pulsetrain.agents`."""


class CollectError(AgentError):
    """A source could not be read or understood; its metrics are missing at this tick, the others go on."""


def failure_of(error: Exception) -> str:
    """What an error of a collector says, with its kind if it is none that collectors raise on purpose."""
    return str(error) if isinstance(error, CollectError) else f"{type(error).__name__}: {error}"
