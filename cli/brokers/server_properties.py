"""The configuration of a single Apache Kafka node that is broker and controller at once (KRaft)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pulsetrain.cli.brokers.errors import BrokerError

_INTERNAL_PARTITIONS = 4
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def server_properties(
    log_dir: Path, broker_port: int, controller_port: int, extra: Mapping[str, str]
) -> dict[str, str]:
    """Broker properties by Kafka's names; `extra` adds to them and wins over them."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{broker_port},CONTROLLER://127.0.0.1:{controller_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(log_dir),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": str(_INTERNAL_PARTITIONS),
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": str(_INTERNAL_PARTITIONS),
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **extra,
    }


def properties_text(properties: Mapping[str, str]) -> str:
    """A Java properties file (ASCII), from which Java reads back exactly these names and values.

    Raises:
        BrokerError: a name that no property of Kafka can have.
    """
    for name in properties:
        if not _NAME.fullmatch(name):
            raise BrokerError(f"{name!r} is no name of a broker property: they look like num.partitions.")
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def _escaped(value: str) -> str:
    return "".join(
        character if "!" <= character <= "~" and character != "\\" else _unicode_escapes(character)
        for character in value
    )


def _unicode_escapes(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))
