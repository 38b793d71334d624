"""What can go wrong in the node agent."""


class AgentError(Exception):
    """Root of all errors of `pulsetrain.agents`."""


class CollectError(AgentError):
    """A source could not be read or understood; its metrics are missing at this tick, the others go on."""
