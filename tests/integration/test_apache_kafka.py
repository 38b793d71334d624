import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Message, Producer

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.cli.brokers.errors import BrokerError
from pulsetrain.schemas.kafka import (
    BrokerUnavailableError,
    KafkaSettings,
    aiokafka_security,
    consumer_config,
    producer_config,
    wait_for_broker,
)

TLS = Path(__file__).parents[1] / "tls"
OUTAGE_SECONDS = 3.0
HOLD_KAFKA = """
import sys
from pulsetrain.cli.brokers.apache_kafka import ApacheKafka

with ApacheKafka() as node:
    print(node.bootstrap, flush=True)
    sys.stdin.read()
"""


def produce(producer: Producer, topic: str, values: list[bytes], failed: list[KafkaError]) -> None:
    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    for value in values:
        producer.produce(topic, value, on_delivery=delivered)


def consume(settings: KafkaSettings, topic: str, count: int) -> list[bytes]:
    """Values of the first records of a topic, within 30 s each."""
    consumer = Consumer(consumer_config(settings, f"{topic}-readers"))
    consumer.subscribe([topic])
    values: list[bytes] = []
    while len(values) < count:
        message = consumer.poll(30)
        assert message is not None, f"{len(values)} of {count} records came, then none for 30 s"
        assert message.error() is None
        value = message.value()
        assert isinstance(value, bytes)
        values.append(value)
    consumer.close()
    return values


def listens(bootstrap: str) -> bool:
    host, port = bootstrap.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def test_an_outage_of_the_broker_loses_nothing_that_was_produced(kafka: ApacheKafka, unique: str) -> None:
    settings = KafkaSettings(bootstrap=kafka.bootstrap)
    producer = Producer(producer_config(settings))
    before, during, after = ([f"{part}-{n}".encode() for n in range(100)] for part in ("before", "during", "after"))
    failed: list[KafkaError] = []
    produce(producer, unique + "outage", before, failed)
    assert producer.flush(30) == 0
    kafka.stop()
    try:
        assert not listens(kafka.bootstrap)
        produce(producer, unique + "outage", during, failed)
        producer.flush(OUTAGE_SECONDS)
    finally:
        kafka.start()
    produce(producer, unique + "outage", after, failed)
    assert producer.flush(60) == 0
    assert failed == []
    assert sorted(consume(settings, unique + "outage", 300)) == sorted(before + during + after)


def test_whoever_waits_for_the_broker_goes_on_when_it_is_back(kafka: ApacheKafka) -> None:
    said: list[str] = []
    kafka.stop()
    try:
        wait_for_broker(KafkaSettings(bootstrap=kafka.bootstrap), said.append, sleep=lambda _seconds: kafka.start())
    finally:
        kafka.start()
    assert [sentence.split(" at ")[0] for sentence in said] == ["No Kafka broker answers", "Kafka answers"]


def test_a_data_folder_keeps_its_records_for_the_next_node(tmp_path: Path, unique: str) -> None:
    data_dir = tmp_path / "größe 1 \\ =:#"
    with ApacheKafka(data_dir) as first:
        producer = Producer(producer_config(KafkaSettings(bootstrap=first.bootstrap)))
        produce(producer, unique + "kept", [b"kept"], [])
        assert producer.flush(30) == 0
    assert not listens(first.bootstrap)
    with ApacheKafka(data_dir) as second:
        assert consume(KafkaSettings(bootstrap=second.bootstrap), unique + "kept", 1) == [b"kept"]
    assert {path.name for path in data_dir.iterdir()} == {"logs", "server.log", "server.properties"}


def test_the_node_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_KAFKA],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as holder:
        assert holder.stdout is not None
        bootstrap = holder.stdout.readline().strip()
        assert listens(bootstrap)
        os.kill(holder.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while listens(bootstrap):
        assert time.monotonic() < deadline, "Kafka still listens 30 s after its parent was killed"
        time.sleep(0.1)


def test_a_bad_property_is_an_error_with_kafkas_own_words() -> None:
    with (
        pytest.raises(BrokerError, match=r"num\.io\.threads"),
        ApacheKafka(properties={"num.io.threads": "many"}),
    ):
        pass


def test_a_node_that_ends_at_once_is_an_error_with_the_end_of_its_log() -> None:
    # The storage tool does not look at this class, the broker does.
    with (
        pytest.raises(BrokerError, match=r"(?s)ended with code .*example\.NoSuchAuthorizer"),
        ApacheKafka(properties={"authorizer.class.name": "example.NoSuchAuthorizer"}),
    ):
        pass


def test_the_java_of_the_wheel_runs_it_where_the_machine_has_none(monkeypatch: pytest.MonkeyPatch, unique: str) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with ApacheKafka() as node:
        settings = KafkaSettings(bootstrap=node.bootstrap)
        producer = Producer(producer_config(settings))
        produce(producer, unique + "java", [b"x"], [])
        assert producer.flush(30) == 0
        assert consume(settings, unique + "java", 1) == [b"x"]


def free_ports(count: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def test_one_security_setting_lets_both_kinds_of_client_in_over_tls_with_a_login(tmp_path: Path, unique: str) -> None:
    plain, controller, secure = free_ports(3)
    keystore = tmp_path / "keystore.pem"
    keystore.write_text((TLS / "server.key").read_text() + (TLS / "server.pem").read_text())
    properties = {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},SECURE://127.0.0.1:{secure}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
        "listener.name.secure.ssl.keystore.type": "PEM",
        "listener.name.secure.ssl.keystore.location": str(keystore),
        "listener.name.secure.ssl.truststore.type": "PEM",
        "listener.name.secure.ssl.truststore.location": str(TLS / "authority.pem"),
        "listener.name.secure.ssl.client.auth": "required",
        "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="node" password="unused" user_pulse="open sesame";'
        ),
    }
    settings = KafkaSettings(
        bootstrap=f"127.0.0.1:{secure}",
        security={
            "security.protocol": "sasl_ssl",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "pulse",
            "sasl.password": "open sesame",
            "ssl.ca.location": str(TLS / "authority.pem"),
            "ssl.certificate.location": str(TLS / "client.pem"),
            "ssl.key.location": str(TLS / "client.key"),
            "ssl.key.password": "open sesame",
        },
    )

    async def produce_with_aiokafka() -> None:
        async with AIOKafkaProducer(bootstrap_servers=settings.bootstrap, **aiokafka_security(settings)) as producer:
            await asyncio.wait_for(producer.send_and_wait(unique + "secure", b"aiokafka"), timeout=30)

    with ApacheKafka(port=plain, properties=properties):
        producer = Producer(producer_config(settings))
        produce(producer, unique + "secure", [b"librdkafka"], [])
        assert producer.flush(30) == 0
        asyncio.run(produce_with_aiokafka())
        assert sorted(consume(settings, unique + "secure", 2)) == [b"aiokafka", b"librdkafka"]
        wrong = KafkaSettings(bootstrap=settings.bootstrap, security={**settings.security, "sasl.password": "open rye"})
        with pytest.raises(BrokerUnavailableError, match="Authentication failed"):
            wait_for_broker(wrong, print, give_up_after_seconds=0.1)
