"""`pulsetrain tail`."""

from enum import StrEnum
from typing import Annotated

import typer

from pulsetrain.cli.commands.options import BootstrapOption, ConfigOption, PrefixOption, configuration, say


class TopicName(StrEnum):
    """The topics that can be read."""

    SAMPLES = "samples"
    FEATURES = "features"
    ANOMALIES = "anomalies"
    LABELS = "labels"
    MODELS = "models"
    STATUS = "status"
    DEAD_LETTER = "dead-letter"


def tail(
    topic: Annotated[
        TopicName,
        typer.Argument(metavar="TOPIC", help="samples, features, anomalies, labels, models, status or dead-letter."),
    ],
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Read what is there already, not only what comes.")
    ] = False,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="End after N messages.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with every field.")] = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
    prefix: PrefixOption = None,
) -> None:
    """Print the messages of a topic as they come, decoded.

    A message that can't be decoded is shown with its position and the reason, and reading goes on. Reading never
    takes part in a consumer group, so it disturbs no worker.

    Example: pulsetrain tail anomalies

    Example: pulsetrain tail samples --from-beginning --count 3 --json

    Exit codes: 0 N messages were read, 1 the topic can't be read, 2 the configuration can't be used, 130 Ctrl-C.
    """
    from itertools import islice

    from rich.console import Console

    from pulsetrain.cli.decoding import decode
    from pulsetrain.cli.json_lines import json_line
    from pulsetrain.cli.rendering import readable, undecodable
    from pulsetrain.cli.topic_reader import TopicReader
    from pulsetrain.schemas.errors import DecodeError
    from pulsetrain.schemas.kafka import wait_for_broker
    from pulsetrain.schemas.topics import ALL_TOPICS

    settings = configuration(config, bootstrap, prefix)
    wait_for_broker(settings.kafka, say)
    wanted = next(one for one in ALL_TOPICS if one.name == topic)
    console = Console(highlight=False, soft_wrap=True)
    with TopicReader(settings.kafka, wanted.full_name(settings.topics.prefix), from_beginning, say) as reader:
        for received in islice(reader, count):
            try:
                record = decode(wanted, received)
            except DecodeError as error:
                problem = str(error)
                if as_json:
                    typer.echo(json_line(received, None, problem))
                else:
                    console.print(undecodable(received.position, problem))
                continue
            if as_json:
                typer.echo(json_line(received, record))
            else:
                console.print(readable(record))
