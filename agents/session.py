"""Who is speaking: what the blocks of one start of the agent have in common, and what counts on from block to block."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.sampler import Samples
from pulsetrain.schemas.sample_block import SampleBlock

_BOOT_ID = "sys/kernel/random/boot_id"
_MAX_BOOT_ID_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class Node:
    """The machine: its name, the id of its boot, and its labels."""

    name: str
    boot_id: str
    labels: Mapping[str, str]


def read_boot_id(proc_root: Path) -> str:
    """The id that the kernel chose when it started; empty where it can't be read."""
    try:
        return (proc_root / _BOOT_ID).read_text(encoding="ascii").strip()[:_MAX_BOOT_ID_CHARACTERS]
    except (OSError, ValueError):
        return ""


class Session:
    """One start of the agent. Blocks have to be sent in the order in which they are made."""

    def __init__(self, node: Node, interval_ns: int) -> None:
        self.id = uuid.uuid4().hex
        self._node = node
        self._interval_ns = interval_ns
        self._sequences: dict[str, int] = {}
        self._sent_until_ns: int | None = None

    def block(self, entity: str, metrics: tuple[str, ...], samples: Samples) -> SampleBlock:
        """The next block of an entity (its name without the node, which names the collector too)."""
        sequence = self._sequences.get(entity, 0)
        block = SampleBlock(
            node=self._node.name,
            session=self.id,
            boot_id=self._node.boot_id,
            collector=entity,
            entity=f"{self._node.name}/{entity}",
            sequence=sequence,
            sent_until_ns=self._sent_until_ns,
            interval_ns=self._interval_ns,
            ticks_ns=samples.ticks_ns,
            metrics=metrics,
            values=samples.values,
            labels=self._node.labels,
            missing=samples.missing,
        )
        self._sequences[entity] = sequence + 1
        self._sent_until_ns = max(self._sent_until_ns or 0, int(samples.ticks_ns[-1]))
        return block
