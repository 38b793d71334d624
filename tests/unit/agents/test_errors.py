"""What is told of a failure can be sent, whatever the error says."""

from pulsetrain.agents.errors import CollectError, failure_of


def test_an_unforeseen_error_is_told_with_its_kind() -> None:
    assert failure_of(CollectError("driver gone")) == "driver gone"
    assert failure_of(ValueError("bug")) == "ValueError: bug"


def test_a_name_that_is_no_utf_8_is_escaped() -> None:
    # How os.fsdecode gives the byte FF (PEP 383).
    assert failure_of(CollectError("/sys/fs/cgroup/a\udcff: gone")) == "/sys/fs/cgroup/a\\udcff: gone"


def test_an_error_that_repeats_what_was_read_is_cut() -> None:
    assert failure_of(CollectError("x" * 1_000_000)) == f"{'x' * 300}..."
