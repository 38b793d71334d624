"""Who is speaking: what the blocks of one start of the agent have in common, and what counts on from block to block."""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulsetrain.agents.sampler import Samples
from pulsetrain.schemas.identity import MAX_LABEL_CHARACTERS, MAX_LABELS
from pulsetrain.schemas.sample_block import SampleBlock

_LOG = logging.getLogger(__name__)

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


@dataclass(frozen=True, slots=True)
class Batch:
    """What becomes a block: samples of one entity from one stream of readings.

    `collector` names the stream, `entity` is the name without the node, or a global one, which has a slash. `labels`
    are what is known of the entity beyond the node's.
    """

    collector: str
    entity: str
    interval_ns: int
    metrics: tuple[str, ...]
    samples: Samples
    labels: Mapping[str, str]


class Session:
    """One start of the agent. Blocks have to be sent in the order in which they are made.

    Labels that do not fit a block are left out, which is logged once a collector: those that are too long, and beyond
    `MAX_LABELS` first the node's, then the entity's, the last of the alphabet first.
    """

    def __init__(self, node: Node) -> None:
        self.id = uuid.uuid4().hex
        self._node = node
        self._told: set[str] = set()
        self._sequences: dict[str, int] = {}
        self._sent_until_ns: int | None = None

    def block(self, batch: Batch) -> SampleBlock:
        """The next block of a stream."""
        sequence = self._sequences.get(batch.collector, 0)
        ticks_ns = batch.samples.ticks_ns
        block = SampleBlock(
            node=self._node.name,
            session=self.id,
            boot_id=self._node.boot_id,
            collector=batch.collector,
            entity=batch.entity if "/" in batch.entity else f"{self._node.name}/{batch.entity}",
            sequence=sequence,
            sent_until_ns=self._sent_until_ns,
            interval_ns=batch.interval_ns,
            ticks_ns=ticks_ns,
            metrics=batch.metrics,
            values=batch.samples.values,
            labels=self._labels(batch) if batch.labels else self._node.labels,
            missing=batch.samples.missing,
        )
        self._sequences[batch.collector] = sequence + 1
        self._sent_until_ns = max(self._sent_until_ns or 0, int(ticks_ns[-1]))
        return block

    def _labels(self, batch: Batch) -> Mapping[str, str]:
        own, nodes = batch.labels, self._node.labels
        ranked = [*sorted(own), *sorted(nodes.keys() - own.keys())]
        known = {**nodes, **own}
        short = [key for key in ranked if max(len(key), len(known[key])) <= MAX_LABEL_CHARACTERS]
        labels = {key: known[key] for key in short[:MAX_LABELS]}
        left_out = [key for key in ranked if key not in labels]
        if left_out and batch.collector not in self._told:
            self._told.add(batch.collector)
            text = "%d labels of %s are left out, %.50r first: a block has at most %d, of %d characters each."
            _LOG.warning(text, len(left_out), batch.entity, left_out[0], MAX_LABELS, MAX_LABEL_CHARACTERS)
        return labels
