"""The crash test over many random logs: python -m tests.unit.streams.windows.many_logs 20000"""

import random
import sys

from tests.unit.streams.windows.random_log import Fault, random_log
from tests.unit.streams.windows.replay import differences, disturbed, undisturbed


def main(first: int, stop: int) -> int:
    windows = emitted = bad = 0
    for seed in range(first, stop):
        rng = random.Random(seed)
        log = random_log(seed, frozenset(Fault), rng.randint(30, 160))
        expected = undisturbed(log)
        actual = disturbed(log, rng)
        windows += len(expected)
        emitted += len(actual)
        bad += bool(differences(expected, actual))
    print(f"{stop - first} logs: {windows} windows, emitted {emitted} times by workers that crash; {bad} logs differ")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*([0] * (3 - len(sys.argv)) + [int(argument) for argument in sys.argv[1:]])))
