"""Topics on a broker against what they should be."""

from pulsetrain.cli.topics import differences
from pulsetrain.schemas.topics import LABELS, SAMPLES

SIX_HOURS = {
    "cleanup.policy": "delete",
    "retention.ms": "21600000",
    "message.timestamp.type": "LogAppendTime",
    "max.message.bytes": "1004096",
}


def test_a_topic_that_is_as_it_should_be_has_no_differences() -> None:
    assert differences(SAMPLES, 4, 4, SIX_HOURS | {"segment.bytes": "1073741824"}) == ()


def test_every_difference_is_named_with_both_values() -> None:
    found = SIX_HOURS | {"retention.ms": "604800000", "message.timestamp.type": "CreateTime"}
    assert differences(SAMPLES, 12, 4, found) == (
        "partitions is 4 and should be 12",
        "retention.ms is 604800000 and should be 21600000",
        "message.timestamp.type is CreateTime and should be LogAppendTime",
    )


def test_a_topic_of_labels_must_be_compacted() -> None:
    assert "cleanup.policy is delete and should be compact" in differences(LABELS, 1, 1, SIX_HOURS)


def test_a_setting_that_the_broker_does_not_tell_is_a_difference() -> None:
    assert "retention.ms is unknown and should be 21600000" in differences(SAMPLES, 4, 4, {})
