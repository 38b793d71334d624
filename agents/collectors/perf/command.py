"""How perf is called."""

from dataclasses import dataclass

from pulsetrain.agents.collectors.perf.events import EventSet, generic_events, software_events
from pulsetrain.agents.collectors.perf.machine import Machine
from pulsetrain.agents.collectors.perf.rows import SEPARATOR, RowParser, parse_json, parse_separated
from pulsetrain.agents.collectors.perf.vendors import choose_events

_OUTPUT_DESCRIPTOR = "1"
"""Where perf writes its rows, so that what it complains of stays apart on the standard error stream."""


@dataclass(frozen=True, slots=True)
class PerfCommand:
    """A `perf stat` of all CPUs. `json`: whether rows are JSON (perf 6.0 and later), else separated by semicolons."""

    program: str
    events: EventSet
    json: bool = True

    def arguments(self, interval_ms: int) -> list[str]:
        """Program and arguments."""
        return [
            self.program,
            "stat",
            "-a",
            *(("-j",) if self.json else ("-x", SEPARATOR)),
            "-I",
            str(interval_ms),
            "--log-fd",
            _OUTPUT_DESCRIPTOR,
            "-e",
            ",".join(event.argument for event in self.events.events),
        ]

    @property
    def parser(self) -> RowParser:
        """How its rows are read."""
        return parse_json if self.json else parse_separated


def possible_commands(program: str, machine: Machine) -> list[PerfCommand]:
    """What to try, the best first: everything; what every processor has; what Linux counts itself."""
    sets = [choose_events(machine), generic_events(None), software_events()]
    return [PerfCommand(program, events) for events in sets]
