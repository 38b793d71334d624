"""`pulsetrain worker`."""

from enum import StrEnum
from typing import Annotated

import typer

from pulsetrain.cli.commands.options import (
    BootstrapOption,
    ConfigOption,
    PartitionsOption,
    PrefixOption,
    configuration,
)


class Stage(StrEnum):
    """The stages of the stream, in the order in which data passes them."""

    FEATURES = "features"
    DETECT = "detect"
    LEARN = "learn"


def worker(
    stages: Annotated[list[Stage], typer.Argument(metavar="STAGE...", help="features, detect, learn: one or more.")],
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
    prefix: PrefixOption = None,
    partitions: PartitionsOption = None,
) -> None:
    """Run stages of the stream until stopped: samples to features, features to verdicts, labels to models.

    Each stage is a process of its own. Any number of workers share a stage's partitions; the learn stage has one
    active worker. It waits for Kafka and for the topics at the start.

    Example: pulsetrain worker features detect learn --bootstrap kafka-0:9092

    Exit codes: 0 stopped, 1 failed or not stopped in time, 2 the configuration can't be used.
    """
    from pulsetrain.cli.extras import require_extra

    require_extra("streams", "faust", "onnxruntime", "sklearn", "tsfresh")
    from pulsetrain.streams.worker_group import run_worker

    settings = configuration(config, bootstrap, prefix, partitions)
    code = run_worker(
        list(dict.fromkeys(stages)),
        settings.worker,
        settings.kafka,
        settings.topics.names,
        settings.topics.partitions,
    )
    raise typer.Exit(code)
