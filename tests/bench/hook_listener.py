"""The agent's end of the training hook: `python -m tests.bench.hook_listener SOCKET` listens until it is ended."""

import sys
import time

from pulsetrain.agents.collectors.training.collector import TrainingCollector
from pulsetrain.agents.collectors.training.settings import HookSettings

_INTERVAL_SECONDS = 0.2


def main() -> int:
    """Collects and throws away; returns the exit code."""
    collector = TrainingCollector(HookSettings(socket_path=sys.argv[1]), lambda pid: {})
    support = collector.is_supported()
    if not support.supported:
        print(support.reason, file=sys.stderr)
        return 1
    try:
        while True:
            collector.collect(time.time_ns())
            time.sleep(_INTERVAL_SECONDS)
    except KeyboardInterrupt:
        return 0
    finally:
        collector.close()


if __name__ == "__main__":
    sys.exit(main())
