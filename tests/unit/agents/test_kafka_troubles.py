"""What is said of a producer that gives up; of outages and refusals the publisher's tests tell."""

from typing import Any

from confluent_kafka import KafkaError

from pulsetrain.agents.kafka_troubles import KafkaTroubles

FENCED = KafkaError(KafkaError._FATAL, "another producer has its id")
NO_THREAD = KafkaError(KafkaError._CRIT_SYS_RESOURCE, "no thread for it")


def test_why_producers_give_up_is_told_when_it_is_another_reason_or_one_has_worked_meanwhile(caplog: Any) -> None:
    troubles = KafkaTroubles(lambda: 0.0)
    for error in (FENCED, FENCED, NO_THREAD, NO_THREAD):
        troubles.gave_up(error)
    troubles.took("samples")
    troubles.gave_up(NO_THREAD)
    assert [FENCED.str() in line for line in caplog.messages] == [True, False, False]


def test_the_first_successor_comes_at_once_and_each_that_follows_within_a_minute_ten_seconds_later() -> None:
    seconds = [0.0]
    troubles = KafkaTroubles(lambda: seconds[0])
    waits = []
    for gave_up_at in (100.0, 100.0, 130.0, 189.9, 250.0):
        seconds[0] = gave_up_at
        troubles.gave_up(FENCED)
        while not troubles.may_open:
            seconds[0] += 1.0
        waits.append(seconds[0] - gave_up_at)
    assert waits == [0.0, 10.0, 10.0, 10.0, 0.0]
