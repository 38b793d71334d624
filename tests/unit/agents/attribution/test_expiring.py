from functools import partial

from pulsetrain.agents.attribution.expiring import Expiring


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_value_is_made_once_until_its_time_is_over() -> None:
    clock, made = Clock(), []

    def make() -> int:
        made.append(clock.seconds)
        return len(made)

    cache: Expiring[str, int] = Expiring(10, 30.0, clock)
    assert [cache.get("a", make), cache.get("a", make)] == [1, 1]
    clock.seconds = 29.9
    assert cache.get("a", make) == 1
    clock.seconds = 30.0
    assert cache.get("a", make) == 2
    assert made == [0.0, 30.0]


def test_the_oldest_entry_makes_room() -> None:
    cache: Expiring[int, int] = Expiring(3, 30.0, Clock())
    for key in range(100):
        cache.get(key, partial(abs, key))
    assert len(cache) == 3
    assert cache.get(99, lambda: -1) == 99
    assert cache.get(0, lambda: -1) == -1
