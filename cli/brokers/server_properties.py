"""The configuration of a single Apache Kafka node that is broker and controller at once (KRaft)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pulsetrain.cli.brokers.errors import BrokerError

_INTERNAL_PARTITIONS = 4


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
    """A Java properties file.

    Raises:
        BrokerError: a name or value that would need more than one plain line.
    """
    for name, value in properties.items():
        if not name.isprintable() or set(name) & set(" =:#!\\") or not name or not value.isprintable():
            raise BrokerError(f"The broker property {name!r} = {value!r} is not one plain line of text.")
    escaped = {name: value.replace("\\", "\\\\") for name, value in properties.items()}
    return "".join(f"{name}={value}\n" for name, value in escaped.items())
