"""`python -m tests.crash --kills 50`: kills workers on Apache Kafka and shows that nothing is lost or different."""

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from tests.crash.plan import Plan
from tests.crash.report import lines
from tests.crash.run import CrashRun


def main() -> int:
    """0 if everything that an undisturbed run gives came out, and nothing else; 1 otherwise, with the logs kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="kills of a worker of each stage (default 50)")
    parser.add_argument("--broker-stops", type=int, default=3, help="stops of the broker, at most one a kill")
    parser.add_argument("--nodes", type=int, default=50, help="simulated nodes (default 50)")
    parser.add_argument("--seed", type=int, default=1, help="of everything that happens (default 1)")
    options = parser.parse_args()
    plan = Plan(options.kills, min(options.broker_stops, options.kills), options.nodes, options.seed)

    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="pulsetrain-crash-"))
    print(f"logs and the broker's data are in {folder}", file=sys.stderr)
    try:
        with ApacheKafka(data_dir=folder / "kafka") as kafka:
            outcome = CrashRun(kafka, "crash.", plan, folder, _say).run()
    except AssertionError as error:
        print(f"FAILED: {error}\nEverything is kept in {folder}")
        return 1
    print("\n".join(lines(outcome)))
    if not outcome.is_right:
        print(f"WRONG: see above; everything is kept in {folder}")
        return 1
    print("nothing lost, nothing different")
    shutil.rmtree(folder)
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
