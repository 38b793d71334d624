"""Wait for a broker at start: patiently, and saying so."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from pulsetrain.schemas.errors import SchemaError
from pulsetrain.schemas.kafka.librdkafka import admin_config
from pulsetrain.schemas.kafka.settings import KafkaSettings, SettingsError

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0
EMERGENCIES_ONLY = 0
"""Log level of clients that wait: the outcome is one sentence of theirs, which librdkafka's lines would repeat."""

_PROBE_SECONDS = 3.0
# "127.0.0.1:9092/bootstrap: " before and "(after 0ms in state CONNECT)" behind what librdkafka has to say.
_DECORATION = re.compile(r"^\S+/bootstrap: | \(after [^)]*\)$")


class BrokerUnavailableError(SchemaError):
    """No broker answered in the time that was given."""


def broker_problem(settings: KafkaSettings) -> str | None:
    """Ask for the cluster's metadata once, for 3 seconds at most: what went wrong, or None.

    Raises:
        SettingsError: librdkafka refuses the settings, so that another try would fail as well.
    """
    reports: list[KafkaError] = []
    try:
        client = AdminClient(admin_config(settings, error_cb=reports.append, log_level=EMERGENCIES_ONLY))
    except KafkaException as error:
        raise SettingsError(f"The Kafka settings can't work: {error.args[0].str()}.") from error
    try:
        client.list_topics(timeout=_PROBE_SECONDS)
    except KafkaException as error:
        client.poll(0)
        causes = [report.str() for report in reports if report.code() != KafkaError._ALL_BROKERS_DOWN]
        return _DECORATION.sub("", causes[-1] if causes else error.args[0].str())
    return None


def wait_for_broker(
    settings: KafkaSettings,
    announce: Callable[[str], None],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    problem: Callable[[KafkaSettings], str | None] = broker_problem,
    give_up_after_seconds: float | None = None,
) -> None:
    """Return once a broker answers; until then try again after 0.5 s, then twice as long, up to 30 s.

    Args:
        settings: where Kafka is.
        announce: called with one sentence a failed try, and one when a broker answers after all.
        clock: seconds that only grow.
        sleep: waits for so many seconds.
        problem: tries once; None when a broker answered, else what went wrong.
        give_up_after_seconds: no further try starts later than this; None never gives up.

    Raises:
        BrokerUnavailableError: nobody answered in time.
        SettingsError: the settings can't work.
    """
    started = clock()
    delay = FIRST_DELAY_SECONDS
    failed = False
    while (cause := problem(settings)) is not None:
        failed = True
        waited = clock() - started
        sentence = f"No Kafka broker answers at {settings.bootstrap} ({cause})"
        if give_up_after_seconds is not None and waited + delay > give_up_after_seconds:
            raise BrokerUnavailableError(
                f"{sentence}; gave up after {waited:.0f} s. Start Kafka there, or set another bootstrap."
            )
        announce(f"{sentence}; next try in {delay:g} s.")
        sleep(delay)
        delay = min(2 * delay, LONGEST_DELAY_SECONDS)
    if failed:
        announce(f"Kafka answers at {settings.bootstrap} after {clock() - started:.0f} s.")
