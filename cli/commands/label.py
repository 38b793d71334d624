"""`pulsetrain label`."""

from enum import StrEnum
from typing import Annotated

import typer

from pulsetrain.cli.commands.options import BootstrapOption, ConfigOption, PrefixOption, configuration, say


class Verdict(StrEnum):
    """What an operator can say."""

    FALSE_POSITIVE = "false_positive"
    TRUE_POSITIVE = "true_positive"
    MISSED = "missed"


def label(
    anomaly_id: Annotated[
        str, typer.Argument(metavar="ANOMALY_ID", help="Id of the anomaly, or ENTITY@START of a missed fault.")
    ],
    verdict: Annotated[Verdict, typer.Argument(metavar="VERDICT", help="false_positive, true_positive or missed.")],
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who says so; your user name by default.")] = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="Why, for those who read it later.")] = "",
    entity: Annotated[str | None, typer.Option(metavar="NAME", help="Where a missed fault was.")] = None,
    start: Annotated[
        str | None, typer.Option(metavar="TIME", help="When a missed fault began, e.g. 2026-01-01T02:00:00Z.")
    ] = None,
    end: Annotated[str | None, typer.Option(metavar="TIME", help="When a missed fault ended.")] = None,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
    prefix: PrefixOption = None,
) -> None:
    """Tell the trainer what an anomaly really was; it learns a new model from it.

    The id stands in the anomaly, see: pulsetrain tail anomalies. The newest label of an anomaly holds.

    Example: pulsetrain label 'node-00/host@20260101T000030.000Z:detect' false_positive --note 'nightly backup'

    Example: pulsetrain label 'node-01/host@2026-01-01T02:00:00Z' missed --end 2026-01-01T02:05:00Z

    Exit codes: 0 the broker has it, 1 not confirmed, 2 no valid label or configuration.
    """
    from datetime import UTC, datetime

    from pulsetrain.cli.label import CONFIRM_SECONDS, make_label, send_label
    from pulsetrain.schemas.kafka import wait_for_broker

    settings = configuration(config, bootstrap, prefix)
    made = make_label(anomaly_id, verdict, by or _user(), datetime.now(UTC), note, entity, start, end)
    wait_for_broker(settings.kafka, say, give_up_after_seconds=CONFIRM_SECONDS)
    position = send_label(made, settings.kafka, settings.topics.names.labels)
    typer.echo(f"Sent {made.verdict} for {made.anomaly_id} by {made.by} at {made.at:%Y-%m-%dT%H:%M:%SZ}.")
    typer.echo(f"Stored in {position.topic}, partition {position.partition}, offset {position.offset}.")


def _user() -> str:
    import getpass

    from pulsetrain.cli.errors import ConfigError

    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise ConfigError("--by: this machine does not know your name; say who labels with --by NAME.") from error
