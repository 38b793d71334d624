"""An operator's label: put together from what was typed, checked, and sent with the broker's confirmation."""

import time
from collections.abc import Callable
from datetime import datetime

import msgspec
from confluent_kafka import KafkaError, Message, Producer

from pulsetrain.cli.errors import CliError, ConfigError
from pulsetrain.cli.positions import position_of
from pulsetrain.schemas.dead_letter import Position
from pulsetrain.schemas.errors import EncodeError
from pulsetrain.schemas.json_record import encode_json
from pulsetrain.schemas.kafka import KafkaSettings, checked_key, producer_config
from pulsetrain.schemas.label import Label, LabelVerdict

CONFIRM_SECONDS = 15.0

_DELIVERY_TIMEOUT_MS = 10_000
_POLL_SECONDS = 0.1


def make_label(
    anomaly_id: str,
    verdict: str,
    by: str,
    at: datetime,
    note: str = "",
    entity: str | None = None,
    start: str | None = None,
    end: str | None = None,
) -> Label:
    """A label that every reader takes.

    A missed fault's entity and start are taken from its `anomaly_id`, `<entity>@<start>`, where they are not given.

    Raises:
        ConfigError: something in it can't be used; the message names it.
    """
    if verdict == LabelVerdict.MISSED and "@" in anomaly_id:
        named_entity, _, named_start = anomaly_id.rpartition("@")
        entity, start = entity or named_entity, start or named_start
    fields = {
        "anomaly_id": anomaly_id,
        "verdict": verdict,
        "by": by,
        "at": at,
        "note": note,
        "entity": entity,
        "start": start,
        "end": end,
    }
    try:
        label = msgspec.convert(fields, Label)
        encode_json(label)
    except (msgspec.ValidationError, EncodeError) as error:
        raise ConfigError(f"This is no valid label: {error}. Nothing was sent.") from error
    return label


def send_label(label: Label, kafka: KafkaSettings, topic: str, clock: Callable[[], float] = time.monotonic) -> Position:
    """Where the broker confirmed to have stored the label.

    Raises:
        CliError: it was not confirmed within `CONFIRM_SECONDS`.
    """
    reports: list[tuple[KafkaError | None, Message]] = []
    producer = Producer(producer_config(kafka, **{"message.timeout.ms": _DELIVERY_TIMEOUT_MS}))
    producer.produce(
        topic,
        key=checked_key(label.anomaly_id),
        value=encode_json(label),
        on_delivery=lambda error, message: reports.append((error, message)),
    )
    deadline = clock() + CONFIRM_SECONDS
    while not reports and clock() < deadline:
        producer.poll(_POLL_SECONDS)
    if not reports:
        raise CliError(f"Kafka at {kafka.bootstrap} did not confirm the label within {CONFIRM_SECONDS:.0f} s.")
    error, message = reports[0]
    if error is not None:
        raise CliError(
            f"Kafka at {kafka.bootstrap} did not take the label for topic {topic} ({error.str()}): "
            "check the topic with `pulsetrain topics list`."
        )
    return position_of(message)
