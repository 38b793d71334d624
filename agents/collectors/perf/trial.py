"""What perf can count here, found by letting it try."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pulsetrain.agents.collectors.perf.events import EventSet, generic_events, software_events
from pulsetrain.agents.collectors.perf.machine import Machine
from pulsetrain.agents.collectors.perf.rows import NOT_SUPPORTED, SEPARATOR, parse_row
from pulsetrain.agents.collectors.perf.vendors import choose_events

_OUTPUT_DESCRIPTOR = "1"
"""Where perf writes its rows, so that what it complains of stays apart on the standard error stream."""

_INTERVAL_MS = 100
_NO_PERMISSION = ("perf_event_paranoid", "permission", "operation not permitted", "access to performance monitoring")
_PERMISSION_ADVICE = (
    "perf may not count all CPUs: set kernel.perf_event_paranoid to 0 or less, or give the agent CAP_PERFMON (in a "
    "container its seccomp profile must allow perf_event_open too)"
)
_NO_HARDWARE = "no hardware counters here, as in most virtual machines"


@dataclass(frozen=True, slots=True)
class PerfCommand:
    """A `perf stat` of all CPUs."""

    program: str
    events: EventSet

    def arguments(self, interval_ms: int) -> list[str]:
        """Program and arguments."""
        events = ",".join(event.argument for event in self.events.events)
        rows = ("-x", SEPARATOR, "--log-fd", _OUTPUT_DESCRIPTOR)
        return [self.program, "stat", "-a", "-I", str(interval_ms), *rows, "-e", events]


def possible_commands(program: str, machine: Machine) -> list[PerfCommand]:
    """What to try, the best first: everything; what every processor has; what Linux counts itself."""
    sets = (choose_events(machine), generic_events(None), software_events())
    return [PerfCommand(program, events) for events in sets]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a run of perf ended: its exit code, what it printed, and what it complained of."""

    exit_code: int
    output: bytes
    errors: str


Run = Callable[[Sequence[str], float], Answer | None]
"""Runs a command for at most so many seconds; None if it was not done by then. Raises OSError if it can't start."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The command that works, or None; what to say of it; and why metrics are missing, by metric id."""

    command: PerfCommand | None
    reason: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)


def try_perf(commands: Sequence[PerfCommand], run: Run, seconds_left: Callable[[], float]) -> Trial:
    """Let perf count for a tenth of a second.

    One that refuses the events of a command is tried with the next. Events that it says are not supported are left out
    for good. One that doesn't answer in time is taken to work: that a machine is busy is no reason to do without.

    Args:
        commands: what to try, the best first.
        run: runs a command.
        seconds_left: how much time there is.
    """
    refusal = ""
    for command in commands:
        try:
            answer = run([*command.arguments(_INTERVAL_MS), "--interval-count", "1"], seconds_left())
        except OSError as error:
            return Trial(None, f"{command.program} can't be run: {error.strerror}")
        if answer is not None and answer.exit_code != 0:
            if any(words in answer.errors.lower() for words in _NO_PERMISSION):
                return Trial(None, _PERMISSION_ADVICE)
            refusal = refusal or f"perf ended with code {answer.exit_code}: {answer.errors or 'it said nothing'}"
            continue
        unsupported = _unsupported(answer.output if answer else b"")
        return _settled(commands[0].events, command, unsupported, refusal)
    return Trial(None, refusal)


def _unsupported(output: bytes) -> set[str]:
    """Events that are not supported on any CPU."""
    supported: dict[str, bool] = {}
    for line in output.splitlines():
        try:
            row = parse_row(line)
        except ValueError:
            continue
        if row is not None:
            supported[row.event] = supported.get(row.event, False) or row.missing != NOT_SUPPORTED
    return {event for event, is_supported in supported.items() if not is_supported}


def _settled(wanted: EventSet, command: PerfCommand, unsupported: set[str], refusal: str) -> Trial:
    hardware = {event.name for event in command.events.events if event.hardware}
    reason = _NO_HARDWARE if hardware and hardware <= unsupported else ""
    events = command.events.without(unsupported)
    if not events.events:
        return Trial(None, reason or NOT_SUPPORTED)
    reasons = dict.fromkeys(unsupported, reason or NOT_SUPPORTED)
    return Trial(PerfCommand(command.program, events), reason or refusal, _missing(wanted, events, reasons, refusal))


def _missing(wanted: EventSet, had: EventSet, reasons: Mapping[str, str], refusal: str) -> dict[str, str]:
    here = set(had.metrics())
    missing: dict[str, str] = {}
    for event in wanted.events:
        if event.metric and event.id_with() not in here:
            missing.setdefault(event.id_with(), reasons.get(event.name) or refusal)
    for ratio in wanted.ratios:
        if ratio.metric not in here:
            missing[ratio.metric] = reasons.get(ratio.numerator) or reasons.get(ratio.denominator) or refusal
    return missing
