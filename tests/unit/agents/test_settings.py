"""Settings of the agent: defaults that work, and one clear sentence for what can't."""

import socket
from typing import Any

import msgspec
import pytest

from pulsetrain.agents.agent import run_agent
from pulsetrain.agents.errors import AgentError
from pulsetrain.agents.orders import Orders
from pulsetrain.agents.reload import AllSettings
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames


def test_the_defaults_work_on_this_machine() -> None:
    settings = AgentSettings()
    assert settings.node == socket.gethostname()
    assert (settings.interval_ms, settings.block_ms, settings.proc_root) == (100, 1000, "/proc")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"node": ""}, "agent.node must have 1 to 253 characters"),
        ({"node": "a b"}, "agent.node 'a b' must not contain spaces"),
        ({"node": "rack/node"}, "'/' or '@'"),
        ({"interval_ms": 5}, "agent.interval_ms is 5; it must lie between 10 and 60000"),
        ({"interval_ms": 1000, "block_seconds": 0.5}, "agent.block_seconds is 0.5; it must lie between 1 and 60"),
        ({"flush_seconds": float("nan")}, "agent.flush_seconds is nan"),
        ({"queue_mebibytes": 0}, "agent.queue_mebibytes is 0"),
        ({"heartbeat_seconds": 0.1}, "agent.heartbeat_seconds is 0.1"),
        ({"spool": {"mebibytes": 1}}, "agent.spool.mebibytes is 1; it must lie between 4 and 1.04858e+06"),
        ({"spool": {"hours": 0}}, "agent.spool.hours is 0; it must lie between 0.01 and 8784"),
        ({"labels": {"": "x"}}, "agent.labels: '' must have a name"),
        ({"labels": {f"label{n}": "" for n in range(65)}}, "agent.labels has 65 entries; at most 64 are allowed"),
        ({"labels": {"job": "j" * 257}}, "agent.labels: 'job' must have a name, and name and value at most 256"),
    ],
)
def test_a_setting_that_cannot_work_is_named_with_what_it_may_be(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match="agent") as caught:
        msgspec.convert(wrong, AgentSettings)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("interval_ms", "slow_interval_ms"),
    [(10, 1000), (100, 1000), (250, 1000), (500, 2000), (1000, 2000), (2000, 2000), (3000, 3000), (60_000, 60_000)],
)
def test_who_reads_seldom_also_sends_and_looks_at_slow_things_seldom(interval_ms: int, slow_interval_ms: int) -> None:
    settings = AgentSettings(interval_ms=interval_ms)
    assert settings.slow_interval_ms == slow_interval_ms
    assert settings.block_ms == slow_interval_ms
    assert AgentSettings(interval_ms=interval_ms, block_seconds=60.0).block_ms == 60_000


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="intervall_ms"):
        msgspec.convert({"intervall_ms": 100}, AgentSettings)


def test_folders_that_only_the_agent_needs_are_not_looked_for_by_other_commands() -> None:
    assert AgentSettings(proc_root="/nowhere", sys_root="/nowhere").sys_root == "/nowhere"


@pytest.mark.parametrize("name", ["proc_root", "sys_root"])
def test_an_agent_without_its_folders_ends_before_it_waits_for_kafka(name: str) -> None:
    nowhere: dict[str, Any] = {name: "/nowhere"}
    with pytest.raises(AgentError, match=f"agent.{name} '/nowhere' is no folder: name where it is mounted"):
        run_agent(AllSettings(AgentSettings(**nowhere), KafkaSettings(bootstrap="127.0.0.1:1"), TopicNames()), Orders())
