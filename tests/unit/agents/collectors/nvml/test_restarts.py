"""The library is initialised anew when that may help, and ever less often while it doesn't."""

from pulsetrain.agents.collectors.nvml.restarts import Restarts


class _Rounds:
    def __init__(self) -> None:
        self.now = 0.0
        self.restarts = Restarts(lambda: self.now)

    def times(self, seconds: int, shut_down: bool = False, failed: bool = False, lost: bool = False) -> list[float]:
        """When a restart was wanted, at a round a second."""
        found = []
        for _ in range(seconds):
            if self.restarts.because(shut_down, failed, lost) is not None:
                found.append(self.now)
            self.now += 1.0
        return found


def test_nothing_is_done_while_all_is_well() -> None:
    assert _Rounds().times(1000) == []


def test_a_library_that_is_shut_down_is_initialised_at_once() -> None:
    assert _Rounds().times(5, shut_down=True) == [0.0]


def test_three_rounds_without_a_value_are_enough_and_further_tries_come_ever_later() -> None:
    assert _Rounds().times(300, failed=True) == [2.0, 32.0, 92.0, 212.0]


def test_two_rounds_without_a_value_are_not_enough() -> None:
    rounds = _Rounds()

    assert [*rounds.times(2, failed=True), *rounds.times(1), *rounds.times(2, failed=True)] == []


def test_a_lost_gpu_is_given_half_a_minute_first() -> None:
    assert _Rounds().times(2000, lost=True) == [30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1560.0]


def test_once_all_is_well_the_next_trouble_is_met_quickly_again() -> None:
    rounds = _Rounds()
    rounds.times(2000, lost=True)
    rounds.times(1)

    assert rounds.times(40, lost=True) == [2031.0]
