"""What the agent may cost, and when its node counts as overloaded."""

import msgspec


class BudgetSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Over any of these the agent reads less often, until it is back within them.

    `cpu_percent`: processor time of one core, `memory_mebibytes`: resident memory, both of the agent and of the
    programs that it runs; `load_per_core`: the node's 1-minute load average by logical core.

    Raises:
        ValueError: a limit is not positive.
    """

    cpu_percent: float = 1.0
    memory_mebibytes: float = 60.0
    load_per_core: float = 4.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) > 0:
                raise ValueError(f"agent.budget.{name} is {getattr(self, name):g}; it must be positive")
