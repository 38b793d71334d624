"""What perf answers when it is tried decides what is counted, and what is said about the rest."""

from collections.abc import Sequence
from pathlib import Path

from pulsetrain.agents.collectors.perf.events import Event, EventSet
from pulsetrain.agents.collectors.perf.machine import Machine
from pulsetrain.agents.collectors.perf.trial import Answer, PerfCommand, Trial, possible_commands, try_perf

DATA = Path("tests/data/perf")
ZEN_4 = Machine("AuthenticAMD", 0x19, 0x11, {"cpu": frozenset(), "amd_umc_0": frozenset()})
UNKNOWN = Machine()
MIGRATIONS = b"     0.100000000;2;;cpu-migrations;200;100.00;;\n"
UNSUPPORTED = b"     0.100000000;<not supported>;;%s;0;100.00;;\n"


class Answers:
    """Gives one answer after the other, and remembers what was asked."""

    def __init__(self, *answers: Answer | OSError | None) -> None:
        self.answers = list(answers)
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str], seconds: float) -> Answer | None:
        self.commands.append(list(command))
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer


def tried(run: Answers, machine: Machine = UNKNOWN) -> Trial:
    return try_perf(possible_commands("/usr/bin/perf", machine), run, lambda: 0.9)


def names(command: PerfCommand | None) -> list[str]:
    return [event.name for event in command.events.events] if command else []


def test_a_virtual_machine_keeps_software_events_and_says_once_why_there_is_no_more() -> None:
    run = Answers(Answer(0, (DATA / "perf-6.1-virtual-machine.csv").read_bytes(), ""))
    found = tried(run)
    assert names(found.command) == ["cpu-migrations"]
    assert found.reason == "no hardware counters here, as in most virtual machines"
    assert found.missing["system.cpu.instructions_per_cycle"] == found.reason
    assert len(run.commands) == 1


def test_one_event_that_is_not_supported_costs_only_what_needs_it() -> None:
    run = Answers(Answer(0, UNSUPPORTED % b"stalled-cycles-backend" + MIGRATIONS, ""))
    found = tried(run)
    assert "cycles" in names(found.command)
    assert "stalled-cycles-backend" not in names(found.command)
    assert found.reason == ""
    assert found.missing == {"system.cpu.stall.share{cpu.stall=backend}": "not supported"}


def test_an_event_that_only_one_kind_of_cores_lacks_stays() -> None:
    rows = UNSUPPORTED % b"cpu_atom/cycles/" + MIGRATIONS.replace(b"cpu-migrations", b"cpu_core/cycles/")
    assert "cycles" in names(tried(Answers(Answer(0, rows, ""))).command)


def test_a_perf_that_refuses_vendor_events_counts_generic_ones_and_says_why() -> None:
    refusal = Answer(129, b"", "event syntax error: 'cpu/event=0xd6,umask=0xa2,name=x/'")
    found = tried(Answers(refusal, Answer(0, MIGRATIONS, "")), ZEN_4)
    assert names(found.command)[:2] == ["cycles", "instructions"]
    assert "ls_dispatch.ld_dispatch" not in names(found.command)
    assert "event syntax error" in found.reason
    assert "event syntax error" in found.missing["system.cpu.memory_access.rate{cpu.memory_access.type=load}"]


def test_a_perf_that_refuses_everything_is_not_supported_and_the_first_reason_is_told() -> None:
    refusals = [Answer(129, b"", f"refusal {number}") for number in range(3)]
    found = tried(Answers(*refusals), ZEN_4)
    assert found.command is None
    assert found.reason == "perf ended with code 129: refusal 0"


def test_a_missing_permission_is_answered_with_what_to_do() -> None:
    text = (DATA / "perf-6.1-no-permission.txt").read_text()
    for words in (
        text,
        "No permission to enable cycles event. You may not have permission to collect system-wide stats.",
    ):
        run = Answers(Answer(255, b"", " ".join(words.split())[:400]))
        found = tried(run)
        assert found.command is None
        assert "kernel.perf_event_paranoid to 0" in found.reason
        assert "CAP_PERFMON" in found.reason
        assert len(run.commands) == 1


def test_a_machine_too_busy_to_answer_in_time_is_counted_all_the_same() -> None:
    found = tried(Answers(None), ZEN_4)
    assert "umc_cas_cmd.rd" in names(found.command)
    assert found.missing == {}


def test_a_perf_that_cannot_be_run_says_why() -> None:
    found = tried(Answers(PermissionError(13, "Permission denied")))
    assert (found.command, found.reason) == (None, "/usr/bin/perf can't be run: Permission denied")


def test_garbage_of_a_trial_is_skipped() -> None:
    assert "cycles" in names(tried(Answers(Answer(0, b"\xff;;\n{\n\n" + MIGRATIONS, ""))).command)


def test_all_arguments_are_perfs_own_and_each_stands_alone() -> None:
    command = PerfCommand("/usr/bin/perf", EventSet((Event("a", "a"), Event("b", "b"))))
    assert command.arguments(500) == [
        "/usr/bin/perf",
        "stat",
        "-a",
        "-I",
        "500",
        "-x",
        ";",
        "--log-fd",
        "1",
        "-e",
        "a,b",
    ]
