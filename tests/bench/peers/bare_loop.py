"""A bare loop over files: `python tests/bench/peers/bare_loop.py INTERVAL_MS COUNTER FILE...`.

It reads the files at wall-clock multiples of the interval and does nothing with them; COUNTER, a file of 8 bytes, has
the number of ticks. It imports nothing else, so that its memory is that of an interpreter.
"""

import mmap
import os
import sys
import time


def main(interval_ms: str, counter: str, *files: str) -> None:
    """Reads until it is killed."""
    interval_ns = int(interval_ms) * 1_000_000
    descriptors = [os.open(file, os.O_RDONLY) for file in files]
    with open(counter, "r+b") as file:  # noqa: PTH123 - pathlib would cost memory that the loop does not need
        ticks = mmap.mmap(file.fileno(), 8)
    count = 0
    while True:
        now_ns = time.time_ns()
        time.sleep((interval_ns - now_ns % interval_ns) * 1e-9)
        for descriptor in descriptors:
            position = 0
            while part := os.pread(descriptor, 65536, position):
                position += len(part)
        count += 1
        ticks[:] = count.to_bytes(8, "little")


if __name__ == "__main__":
    main(*sys.argv[1:])
