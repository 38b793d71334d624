"""`pulsetrain topics create` and `pulsetrain topics list`."""

from typing import TYPE_CHECKING, Annotated

import typer

from pulsetrain.cli.commands.options import (
    BootstrapOption,
    ConfigOption,
    PartitionsOption,
    PrefixOption,
    configuration,
    say,
)

if TYPE_CHECKING:
    from pulsetrain.schemas.topics import Topic

topics = typer.Typer(help="Create Pulsetrain's topics on a Kafka, and see which are there.", no_args_is_help=True)

_PATIENCE_SECONDS = 30.0
_DAY_MS = 86_400_000


@topics.command()
def create(
    replication_factor: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Copies of each partition; the broker's default else.")
    ] = None,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
    prefix: PrefixOption = None,
    partitions: PartitionsOption = None,
) -> None:
    """Create the topics that are missing, with their partitions, retention and compaction.

    Topics that exist are compared and never changed.

    Example: pulsetrain topics create --partitions 12 --replication-factor 3

    Exit codes: 0 all topics are as they should be, 1 a topic differs or Kafka refused, 2 the configuration can't be
    used.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Column, Table

    from pulsetrain.cli.topics import BROKER_DEFAULT_REPLICATION, TopicState, create_topics
    from pulsetrain.schemas.kafka import wait_for_broker

    settings = configuration(config, bootstrap, prefix, partitions)
    wait_for_broker(settings.kafka, say, give_up_after_seconds=_PATIENCE_SECONDS)
    outcomes = create_topics(
        settings.kafka,
        settings.topics.prefix,
        settings.topics.partitions,
        replication_factor or BROKER_DEFAULT_REPLICATION,
    )
    table = Table(Column("topic", no_wrap=True), "partitions", "kept", "", box=SIMPLE_HEAD)
    for outcome in outcomes:
        table.add_row(outcome.name, str(outcome.partitions), _kept(outcome.topic), outcome.state)
    Console().print(table)
    different = [outcome for outcome in outcomes if outcome.state is TopicState.DIFFERENT]
    for outcome in different:
        say(f"{outcome.name} differs: {'; '.join(outcome.differences)}.")
    if different:
        say("Topics are never changed: alter them with Kafka's own tools, or choose another --prefix or --partitions.")
        raise typer.Exit(1)


@topics.command("list")
def list_(config: ConfigOption = None, bootstrap: BootstrapOption = None, prefix: PrefixOption = None) -> None:
    """Show every topic: what it carries, how it is keyed and kept, and whether it is there.

    Example: pulsetrain topics list --bootstrap kafka-0:9092

    Exit codes: 0 shown, 1 Kafka does not answer, 2 the configuration can't be used.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Column, Table

    from pulsetrain.cli.topics import existing_partitions
    from pulsetrain.schemas.kafka import wait_for_broker

    settings = configuration(config, bootstrap, prefix)
    wait_for_broker(settings.kafka, say, give_up_after_seconds=_PATIENCE_SECONDS)
    table = Table(Column("topic", no_wrap=True), "partitions", "key", "value", "kept", box=SIMPLE_HEAD)
    for topic, count in existing_partitions(settings.kafka, settings.topics.prefix).items():
        name = topic.full_name(settings.topics.prefix)
        table.add_row(name, str(count or "missing"), topic.key, topic.value, _kept(topic))
    Console().print(table)


def _kept(topic: "Topic") -> str:
    if topic.compacted:
        return "newest of each key"
    days = topic.retention_ms / _DAY_MS
    return f"{days:g} days" if days >= 1 else f"{days * 24:g} hours"
