from pathlib import Path

import pytest

from pulsetrain.cli.brokers.errors import BrokerError
from pulsetrain.cli.brokers.server_properties import properties_text, server_properties


def test_one_node_is_broker_and_controller_and_keeps_its_own_topics_alone() -> None:
    properties = server_properties(Path("/data/logs"), 20_001, 20_002, {})
    assert properties["process.roles"] == "broker,controller"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:20001,CONTROLLER://127.0.0.1:20002"
    assert properties["controller.quorum.bootstrap.servers"] == "127.0.0.1:20002"
    assert properties["log.dirs"] == "/data/logs"
    ones = {name for name, value in properties.items() if name.endswith((".factor", ".min.isr")) and value == "1"}
    assert ones == {
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.min.isr",
    }


def test_further_properties_are_added_and_win() -> None:
    extra = {"node.id": "7", "auto.create.topics.enable": "false"}
    properties = server_properties(Path("/data/logs"), 20_001, 20_002, extra)
    assert extra.items() <= properties.items()
    assert properties["process.roles"] == "broker,controller"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("127.0.0.1:9092", "x=127.0.0.1:9092"),
        ("/größe", r"x=/gr\u00f6\u00dfe"),
        (" two words", r"x=\u0020two\u0020words"),
        ("a\\b\n", r"x=a\u005cb\u000a"),
        ("\N{OWL}", r"x=\ud83e\udd89"),
        ("", "x="),
    ],
)
def test_values_are_written_as_java_reads_them(value: str, line: str) -> None:
    assert properties_text({"x": value}) == line + "\n"


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a:b", "#a", "a\nb", "ä"])
def test_a_name_that_would_break_the_file_is_refused(name: str) -> None:
    with pytest.raises(BrokerError, match="no name of a broker property"):
        properties_text({name: "1"})
