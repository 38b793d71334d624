"""Two features workers against one, on a topic filled beforehand: broker and workers share the machine's cores."""

from contextlib import ExitStack
from statistics import median

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.schemas.kafka import KafkaSettings, admin_config
from tests.bench.children import features_worker
from tests.bench.figures import Figure
from tests.bench.paced_reader import PARTITIONS, Cost, PacedReader, Topics
from tests.bench.sample_log import BLOCKS_PER_WINDOW, WARM_UP_SECONDS, SampleLog, node_names
from tests.processes import wait_until

_NODES = 48
_ROUNDS = 3
_ROUND_SECONDS = 150
_BLOCKS_PER_ROUND = _NODES * _ROUND_SECONDS
_REQUEST_SECONDS = 5.0
_JOIN_SECONDS = 120.0

_MEDIAN = f"median of {_ROUNDS} rounds of {_BLOCKS_PER_ROUND:,} blocks"

FIGURES = (
    Figure("one_worker_blocks_per_s", "blocks/s", f"one `pulsetrain worker features`; {_MEDIAN}"),
    Figure("two_workers_blocks_per_s", "blocks/s", "two in one group, two of the four partitions each"),
    Figure("two_workers_vs_one", "ratio", "two_workers_blocks_per_s / one_worker_blocks_per_s"),
)


def run() -> dict[str, float]:
    """Rounds that take turns on the same records, on one broker; each partition has as many nodes as the others."""
    costs: dict[int, list[Cost]] = {1: [], 2: []}
    with ExitStack() as stack:
        kafka = KafkaSettings(bootstrap=stack.enter_context(ApacheKafka()).bootstrap)
        log = SampleLog(node_names(_NODES, PARTITIONS), WARM_UP_SECONDS + _ROUNDS * _ROUND_SECONDS)
        warm_up = log.next_seconds(WARM_UP_SECONDS)
        readers = {workers: _start(stack, kafka, workers) for workers in costs}
        for reader in readers.values():
            reader.warm_up(warm_up, _NODES)
        for _ in range(_ROUNDS):
            records = log.next_seconds(_ROUND_SECONDS)
            for workers, reader in readers.items():
                costs[workers].append(reader.take(records, len(records) // BLOCKS_PER_WINDOW))
    rates = {
        workers: _BLOCKS_PER_ROUND / median(cost.seconds for cost in several) for workers, several in costs.items()
    }
    return {
        "one_worker_blocks_per_s": rates[1],
        "two_workers_blocks_per_s": rates[2],
        "two_workers_vs_one": rates[2] / rates[1],
    }


def _start(stack: ExitStack, kafka: KafkaSettings, workers: int) -> PacedReader:
    prefix, log = f"by{workers}.", f"workers_{workers}.log"
    topics = Topics(kafka, prefix)
    stack.callback(topics.close)
    processes = [
        stack.enter_context(features_worker(kafka, prefix, PARTITIONS, log if number == 0 else f"{number}_{log}"))
        for number in range(workers)
    ]
    admin, name = AdminClient(admin_config(kafka)), f"{prefix}features"

    def shares() -> bool:
        try:
            group = admin.describe_consumer_groups([name], request_timeout=_REQUEST_SECONDS)[name].result()
        except KafkaException:  # the group has no coordinator yet: the broker has just started
            return False
        owned = [len(member.assignment.topic_partitions) for member in group.members]
        return owned == [PARTITIONS // workers] * workers

    wait_until(f"{workers} workers with an equal share of the partitions", shares, _JOIN_SECONDS)
    return PacedReader(processes, topics, log)
