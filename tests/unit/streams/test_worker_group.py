"""The exit code of several stages together, from how each of their processes ended."""

import signal

import pytest

from pulsetrain.streams.worker_group import StageEnd, group_exit_code, signal_problems

STOPPED = StageEnd("detect", -signal.SIGTERM, signal.SIGTERM)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([StageEnd("features", 0, signal.SIGTERM), StageEnd("detect", 0, signal.SIGTERM)], 0),
        ([StageEnd("features", 0, None), STOPPED], 0),
        ([StageEnd("features", 1, None), STOPPED], 1),
        ([StageEnd("features", 2, None), STOPPED], 2),
        ([StageEnd("features", 2, None), StageEnd("detect", 1, None)], 2),
        ([StageEnd("features", 1, signal.SIGTERM), StageEnd("detect", 0, None)], 1),
        ([StageEnd("features", -signal.SIGSEGV, None), STOPPED], 1),
        ([StageEnd("features", -signal.SIGSEGV, signal.SIGTERM), STOPPED], 1),
        ([StageEnd("features", -signal.SIGTERM, None), StageEnd("detect", 0, signal.SIGTERM)], 1),
        ([StageEnd("features", -signal.SIGKILL, signal.SIGKILL), StageEnd("detect", 0, signal.SIGTERM)], 1),
    ],
)
def test_only_a_stage_s_own_choice_or_an_unforeseen_signal_makes_the_exit_code(ends: list[StageEnd], code: int) -> None:
    assert group_exit_code(ends) == code


def test_an_unforeseen_signal_is_told_with_stage_and_name() -> None:
    (sentence,) = signal_problems([StageEnd("features", -signal.SIGKILL, None), STOPPED])
    assert sentence.startswith("pulsetrain worker features: ended by SIGKILL, ")
    assert sentence.endswith(".")


def test_a_stage_that_did_not_stop_in_time_is_told() -> None:
    (sentence,) = signal_problems([StageEnd("features", -signal.SIGKILL, signal.SIGKILL), STOPPED])
    assert sentence.startswith("pulsetrain worker features: not stopped in time and killed")
