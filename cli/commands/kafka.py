"""`pulsetrain kafka`."""

from pathlib import Path
from typing import Annotated

import typer

from pulsetrain.cli.commands.options import ConfigOption, PartitionsOption, PrefixOption, configuration, say


def kafka(
    data_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the data stays; without it, it is deleted at the end.")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65_535, metavar="PORT", help="Where clients connect.")] = 9092,
    config: ConfigOption = None,
    prefix: PrefixOption = None,
    partitions: PartitionsOption = None,
) -> None:
    """Run one Apache Kafka node in the foreground, with the topics created: a real broker to play with.

    It listens on this machine only. The first start fetches Apache Kafka (45 MB); a Java 17 or newer is used if
    there is one, else the one that the extra named kafka brings.

    Example: pulsetrain kafka --data-dir ./kafka-data

    Exit codes: 0 stopped, 1 it can't be started or ended by itself, 2 the configuration can't be used.
    """
    from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
    from pulsetrain.cli.node_watch import wait_while_answering
    from pulsetrain.cli.stopping import exit_on_signals
    from pulsetrain.cli.topics import create_topics
    from pulsetrain.schemas.kafka import KafkaSettings
    from pulsetrain.schemas.kafka.waiting import broker_problem

    settings = configuration(config, None, prefix, partitions)
    exit_on_signals()
    with ApacheKafka(data_dir, port, announce=say) as node:
        own = KafkaSettings(bootstrap=node.bootstrap)
        outcomes = create_topics(own, settings.topics.prefix, settings.topics.partitions)
        for outcome in outcomes:
            if outcome.differences:
                say(f"{outcome.name} differs: {'; '.join(outcome.differences)}.")
        say(f"Apache Kafka answers at {node.bootstrap} with {len(outcomes)} topics; Ctrl-C stops it.")
        try:
            wait_while_answering(lambda: broker_problem(own))
        finally:
            say("Stopping Apache Kafka.")
