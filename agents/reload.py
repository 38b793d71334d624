"""What a second reading of the settings changes, and what of it needs a restart."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from pulsetrain.agents.settings import AgentSettings
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames

KEPT = ("node", "spool", "queue_mebibytes", "flush_seconds", "log")
"""Settings of the agent that hold until it is restarted: they belong to what outlives a session."""


class AllSettings(NamedTuple):
    """Everything that an agent is started with."""

    agent: AgentSettings
    kafka: KafkaSettings
    topics: TopicNames


class Reloaded(NamedTuple):
    """New settings with the kept ones as before, what is new by name, and which changes need a restart."""

    settings: AllSettings
    changed: dict[str, str]
    needs_restart: list[str]


def reloaded(before: AllSettings, after: AllSettings) -> Reloaded:
    """Compare what an agent runs with to what it was given anew. Only numbers are told; a text may be a secret."""
    kept = {name: getattr(before.agent, name) for name in KEPT}
    settings = AllSettings(msgspec.structs.replace(after.agent, **kept), before.kafka, before.topics)
    needs_restart = [
        *(f"agent.{name}" for name in KEPT if getattr(after.agent, name) != kept[name]),
        *(
            name
            for name, is_new in (("kafka", before.kafka != after.kafka), ("topics", before.topics != after.topics))
            if is_new
        ),
    ]
    return Reloaded(settings, dict(_differences("agent", before.agent, settings.agent)), needs_restart)


def _differences(name: str, before: Any, after: Any) -> Iterator[tuple[str, str]]:
    if before == after:
        return
    if isinstance(before, msgspec.Struct) and type(before) is type(after):
        for field in before.__struct_fields__:
            yield from _differences(f"{name}.{field}", getattr(before, field), getattr(after, field))
    elif isinstance(before, int | float) and isinstance(after, int | float):
        yield name, f"{before:g} -> {after:g}"
    else:
        yield name, "changed"
