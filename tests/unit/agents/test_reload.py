"""What new settings change: told by name, and by value only where that can be no secret."""

from pulsetrain.agents.budget import BudgetSettings
from pulsetrain.agents.reload import AllSettings, reloaded
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.agents.spool.settings import SpoolSettings
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames

BEFORE = AllSettings(AgentSettings(node="n"), KafkaSettings(bootstrap="kafka:9092"), TopicNames("p."))


def test_nothing_new_changes_nothing() -> None:
    assert reloaded(BEFORE, BEFORE) == (BEFORE, {}, [])


def test_numbers_are_told_and_texts_are_not() -> None:
    agent = AgentSettings(
        node="n", interval_ms=200, labels={"token": "s3cret"}, proc_root="/host", budget=BudgetSettings(cpu_percent=2.5)
    )
    result = reloaded(BEFORE, BEFORE._replace(agent=agent))
    assert result.changed == {
        "agent.interval_ms": "100 -> 200",
        "agent.labels": "changed",
        "agent.proc_root": "changed",
        "agent.budget.cpu_percent": "1 -> 2.5",
    }
    assert result.settings.agent == agent
    assert result.needs_restart == []


def test_what_outlives_a_session_is_kept_and_said_to_need_a_restart() -> None:
    agent = AgentSettings(node="m", interval_ms=200, spool=SpoolSettings(folder="/spool"))
    after = AllSettings(agent, KafkaSettings(bootstrap="other:9092"), TopicNames("q."))
    result = reloaded(BEFORE, after)
    assert result.settings == BEFORE._replace(agent=AgentSettings(node="n", interval_ms=200))
    assert result.changed == {"agent.interval_ms": "100 -> 200"}
    assert result.needs_restart == ["agent.node", "agent.spool", "kafka", "topics"]
