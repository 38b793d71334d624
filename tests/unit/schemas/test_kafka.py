import logging
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rich.pretty import pretty_repr

from pulsetrain.schemas.errors import EncodeError
from pulsetrain.schemas.kafka import (
    BrokerUnavailableError,
    KafkaSettings,
    SettingsError,
    admin_config,
    aiokafka_security,
    checked_key,
    consumer_config,
    producer_config,
    wait_for_broker,
)
from pulsetrain.schemas.topics import ALL_TOPICS

TLS = Path(__file__).parents[2] / "tls"
SECURITY = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "pulse",
    "sasl.password": "open sesame",
    "ssl.ca.location": str(TLS / "authority.pem"),
    "ssl.certificate.location": str(TLS / "client.pem"),
    "ssl.key.location": str(TLS / "client.key"),
    "ssl.key.password": "open sesame",
}


def settings(**security: str) -> KafkaSettings:
    return KafkaSettings(bootstrap="127.0.0.1:1", security=security)


def secured(**changes: str | None) -> KafkaSettings:
    merged = {**SECURITY, **{name.replace("_", "."): value for name, value in changes.items()}}
    return KafkaSettings(
        bootstrap="localhost:1", security={name: value for name, value in merged.items() if value is not None}
    )


def test_several_brokers_and_ipv6_addresses_are_accepted() -> None:
    given = "kafka-1.example:9092,10.0.0.7,[::1]:9094"
    assert KafkaSettings(bootstrap=given).bootstrap == given


@pytest.mark.parametrize("bootstrap", ["a:b", "kafka://a:9092", "a:1, b:2", "a:1,", "a:0", "a:65536", "a b:1", ":9092"])
def test_a_bad_address_is_one_sentence_that_names_it(bootstrap: str) -> None:
    with pytest.raises(SettingsError) as caught:
        KafkaSettings(bootstrap=bootstrap)
    assert repr(bootstrap) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_address_is_one_sentence_also_when_read_from_a_file() -> None:
    with pytest.raises(SettingsError, match=r"^No Kafka address is given: set bootstrap to host:port"):
        msgspec.convert({"bootstrap": ""}, KafkaSettings)


@pytest.mark.parametrize(
    ("security", "sentence"),
    [
        ({"security.protocol": "tls"}, "security.protocol 'tls' is none of plaintext, ssl, sasl_plaintext, sasl_ssl."),
        ({"partitioner": "random"}, "'partitioner' is no security property"),
        ({"ssl.ca.location": "ca.pem"}, "ssl.ca.location has no effect with security.protocol 'plaintext'"),
        (
            {"security.protocol": "ssl", "sasl.password": "geheim"},
            "security.protocol 'ssl': set security.protocol to sasl_plaintext or sasl_ssl.",
        ),
        ({"security.protocol": "SASL_SSL"}, "needs sasl.mechanism"),
    ],
)
def test_security_that_cannot_work_is_refused_by_name(security: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(**security)
    assert sentence in str(caught.value)
    assert "geheim" not in str(caught.value)


@hypothesis_settings(deadline=None, max_examples=40)
@given(st.text(st.characters(), max_size=30), st.sampled_from(["bootstrap", "name", "sasl.username", "sasl.password"]))
@example("h\N{LATIN SMALL LETTER O WITH DIAERESIS}st:9092", "bootstrap")
@example("host\udc80:9092", "bootstrap")
@example("geheim\udc80", "sasl.password")
@example("geheim\0", "sasl.password")
@example("\udc80", "name")
def test_settings_of_any_text_reach_librdkafka_or_are_one_sentence(text: str, where: str) -> None:
    login = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "u",
        "sasl.password": "p",
    }
    bootstrap = text if where == "bootstrap" else "127.0.0.1:1"
    changed = {} if where == "bootstrap" else {f"sasl.{text}" if where == "name" else where: text}
    try:
        kafka = KafkaSettings(bootstrap=bootstrap, security=login | changed)
    except SettingsError:
        return
    if where == "name":
        with pytest.raises(KafkaException, match="No such configuration property"):
            Producer(producer_config(kafka))
    elif text:
        Producer(producer_config(kafka))


@pytest.mark.parametrize(
    ("bootstrap", "security", "sentence"),
    [
        ("h\N{LATIN SMALL LETTER O WITH DIAERESIS}st:9092", {}, "host names have ASCII letters only"),
        ("ho\0st:9092", {}, "host names have ASCII letters only"),
        ("host\udc80:9092", {}, "host names have ASCII letters only"),
        ("host:9092", {"ssl.ca.location": "\udc80.pem"}, "ssl.ca.location has a character that is no text"),
        ("host:9092", {"ssl.key.password": "geheim\udc80"}, "ssl.key.password has a character that is no text"),
        ("host:9092", {"ssl.key\udc80": "geheim"}, "'ssl.key\\udc80' is no security property"),
    ],
)
def test_bytes_that_are_no_text_are_refused_by_name(bootstrap: str, security: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        KafkaSettings(bootstrap=bootstrap, security={"security.protocol": "ssl"} | security)
    assert sentence in str(caught.value)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("show", [repr, str, "{}".format, pretty_repr, lambda shown: f"{[shown]}"])
def test_secrets_are_masked_however_the_settings_are_shown(show: Any) -> None:
    shown = show(
        settings(
            **{
                "security.protocol": "sasl_ssl",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "pulse",
                "sasl.password": "geheim-1",
                "ssl.key.password": "geheim-2",
                "ssl.key.pem": "geheim-3",
                "ssl.a.property.of.tomorrow": "geheim-4",
            }
        )
    )
    assert "geheim" not in shown
    assert shown.count("***") == 4
    assert "127.0.0.1:1" in shown
    assert "pulse" in shown


def test_security_reaches_librdkafka_as_it_is() -> None:
    for config in (producer_config(secured()), consumer_config(secured(), "group"), admin_config(secured())):
        assert SECURITY.items() <= config.items()
        assert config["bootstrap.servers"] == "localhost:1"
    Producer(producer_config(secured()))
    Consumer(consumer_config(secured(), None)).close()


def test_every_producer_is_idempotent_and_compressed_and_uses_the_partitioner_of_java() -> None:
    config = producer_config(settings(), **{"linger.ms": 20, "compression.type": "none"})
    assert config["partitioner"] == "murmur2_random"
    assert config["enable.idempotence"] is True
    assert config["linger.ms"] == 20
    assert config["compression.type"] == "none"
    assert producer_config(settings())["compression.type"] == "lz4"


def test_a_producer_takes_the_largest_message_of_every_topic_with_key_and_headers() -> None:
    producer = Producer(producer_config(settings()))
    headers: list[tuple[str, str | bytes | None]] = [(f"header-{number}", b"x" * 500) for number in range(7)]
    for topic in ALL_TOPICS:
        producer.produce(topic.name, key=b"k" * 400, value=bytes(topic.max_message_bytes), headers=headers)
    producer.purge()


def test_another_partitioner_is_refused() -> None:
    with pytest.raises(SettingsError, match="consistent_random"):
        producer_config(settings(), partitioner="consistent_random")


def test_a_consumer_commits_only_when_told_to_and_starts_at_the_oldest_record() -> None:
    config = consumer_config(settings(), "readers", **{"fetch.min.bytes": 1})
    assert config["group.id"] == "readers"
    assert config["enable.auto.commit"] is False
    assert config["auto.offset.reset"] == "earliest"
    assert config["fetch.min.bytes"] == 1


def test_librdkafka_writes_nothing_to_stderr_when_no_broker_answers(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        producer = Producer(producer_config(settings()))
        for _ in range(100):
            producer.poll(0.1)
            if caplog.records:
                break
    assert "Connection refused" in caplog.text
    assert capfd.readouterr().err == ""


def test_a_key_is_utf8_and_never_empty() -> None:
    assert checked_key("node-ü") == b"node-\xc3\xbc"
    with pytest.raises(EncodeError, match="needs a key"):
        checked_key("")
    with pytest.raises(EncodeError, match="UTF-8"):
        checked_key("node-\ud800")


def test_plaintext_is_the_default_for_aiokafka_too() -> None:
    assert aiokafka_security(settings()) == {"security_protocol": "PLAINTEXT"}


def test_aiokafka_gets_the_same_login() -> None:
    given = settings(
        **{
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "scram-sha-256",
            "sasl.username": "pulse",
            "sasl.password": "open sesame",
        }
    )
    assert aiokafka_security(given) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "pulse",
        "sasl_plain_password": "open sesame",
    }


@pytest.mark.parametrize(
    ("security", "named"),
    [
        ({"security.protocol": "ssl", "ssl.crl.location": "revoked.pem"}, "ssl.crl.location"),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism OAUTHBEARER"),
        ({"security.protocol": "ssl", "ssl.ca.location": "/missing.pem"}, "ssl.ca.location '/missing.pem'"),
        ({"security.protocol": "ssl", "ssl.certificate.location": "/missing.pem"}, "ssl.certificate.location"),
        (
            {"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "dns"},
            "ssl.endpoint.identification.algorithm 'dns'",
        ),
        (
            {"security.protocol": "ssl", "enable.ssl.certificate.verification": "maybe"},
            "enable.ssl.certificate.verification 'maybe'",
        ),
    ],
)
def test_what_aiokafka_cannot_do_is_refused_by_name(security: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError) as caught:
        aiokafka_security(settings(**security))
    assert named in str(caught.value)


@pytest.mark.parametrize("password", [None, "wrong", ""])
def test_a_locked_key_without_its_password_is_an_error_and_no_question(password: str | None) -> None:
    with pytest.raises(SettingsError, match=r"ssl\.key\.password"):
        aiokafka_security(secured(ssl_key_password=password))


def handshake(context: ssl.SSLContext, host: str) -> dict[str, Any]:
    """Talk TLS in memory to a server that asks for a client certificate; what the server saw of it."""
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=TLS / "authority.pem")
    server_context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    server_context.verify_mode = ssl.CERT_OPTIONAL
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(to_client, to_server, server_hostname=host)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    unfinished = [client, server]
    for _ in range(10):
        for side in list(unfinished):
            try:
                side.do_handshake()
                unfinished.remove(side)
            except ssl.SSLWantReadError:
                continue
    assert not unfinished
    return dict(server.getpeercert() or {})


def test_aiokafka_shows_the_client_certificate_to_a_server_of_the_given_authority() -> None:
    seen = handshake(aiokafka_security(secured())["ssl_context"], "localhost")
    assert seen["subject"] == ((("commonName", "client"),),)


def test_a_server_of_another_name_or_authority_is_refused() -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(aiokafka_security(secured())["ssl_context"], "elsewhere.example")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(aiokafka_security(secured(ssl_ca_location="probe"))["ssl_context"], "localhost")


def test_checks_of_name_and_certificate_can_be_switched_off_as_in_librdkafka() -> None:
    no_name = secured(ssl_endpoint_identification_algorithm="none")
    assert handshake(aiokafka_security(no_name)["ssl_context"], "elsewhere.example")
    nothing = secured(ssl_ca_location=None, enable_ssl_certificate_verification="false")
    assert handshake(aiokafka_security(nothing)["ssl_context"], "elsewhere.example")


class Outage:
    """A broker that answers after some tries, on a clock that only sleeping moves."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def problem(self, _settings: KafkaSettings) -> str | None:
        self.failures -= 1
        return "Connection refused" if self.failures >= 0 else None

    def wait(self, give_up_after_seconds: float | None = None) -> list[str]:
        said: list[str] = []
        wait_for_broker(
            settings(),
            said.append,
            clock=self.clock,
            sleep=self.sleep,
            problem=self.problem,
            give_up_after_seconds=give_up_after_seconds,
        )
        return said


def test_a_broker_that_answers_at_once_is_not_announced() -> None:
    assert Outage(failures=0).wait() == []


def test_tries_come_ever_more_slowly_and_each_is_announced() -> None:
    outage = Outage(failures=8)
    said = outage.wait()
    assert outage.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert said[0] == "No Kafka broker answers at 127.0.0.1:1 (Connection refused); next try in 0.5 s."
    assert said[-1] == "Kafka answers at 127.0.0.1:1 after 92 s."  # 91.5 s, to the even second
    assert len(said) == 9


def test_waiting_ends_when_the_time_that_was_given_is_over() -> None:
    outage = Outage(failures=100)
    with pytest.raises(BrokerUnavailableError, match="gave up after 8 s"):
        outage.wait(give_up_after_seconds=10.0)
    assert outage.slept == [0.5, 1.0, 2.0, 4.0]  # after 7.5 s the next try would come at 15.5 s


def test_nobody_listening_is_a_reason_in_words() -> None:
    said: list[str] = []
    with pytest.raises(BrokerUnavailableError, match="Connection refused"):
        wait_for_broker(settings(), said.append, give_up_after_seconds=0.1)
    assert said == []


def test_a_process_that_waits_for_a_broker_says_one_sentence_a_try_and_nothing_else() -> None:
    waiting = """
import logging
from pulsetrain.schemas.kafka import BrokerUnavailableError, KafkaSettings, wait_for_broker
logging.basicConfig(level=logging.DEBUG)
clock, sleep = iter([0.0, 0.0, 0.0, 99.0]).__next__, lambda seconds: None
try:
    wait_for_broker(
        KafkaSettings(bootstrap="127.0.0.1:1"), logging.warning, clock=clock, sleep=sleep, give_up_after_seconds=9.0
    )
except BrokerUnavailableError:
    pass
"""
    ended = subprocess.run([sys.executable, "-c", waiting], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert len(lines) == 2
    assert all("No Kafka broker answers at 127.0.0.1:1 (" in line and "next try in" in line for line in lines)


def test_a_misspelled_property_ends_the_waiting_at_once() -> None:
    misspelled = settings(**{"security.protocol": "ssl", "ssl.ca.locaton": "ca.pem"})
    with pytest.raises(SettingsError, match=r"ssl\.ca\.locaton"):
        wait_for_broker(misspelled, print)
