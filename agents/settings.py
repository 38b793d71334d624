"""Settings of the node agent; read once at the edge and passed down, never changed."""

import socket

import msgspec

from pulsetrain.agents.attribution.settings import AttributionSettings
from pulsetrain.agents.budget import BudgetSettings
from pulsetrain.agents.collectors.nvml.settings import NvmlSettings
from pulsetrain.agents.collectors.perf.settings import PerfSettings
from pulsetrain.agents.collectors.scrape.settings import ScrapeTarget, check_targets
from pulsetrain.agents.collectors.training.settings import HookSettings
from pulsetrain.agents.log_settings import LogSettings
from pulsetrain.agents.spool.settings import SpoolSettings
from pulsetrain.schemas.identity import MAX_LABEL_CHARACTERS, MAX_LABELS

_MIN_INTERVAL_MS, _MAX_INTERVAL_MS = 10, 60_000
_MAX_BLOCK_SECONDS = 60.0
_SLOW_MS, _LONGEST_SLOW_MS, _SLOW_TICKS = 1000, 2000, 4
_MAX_NODE_CHARACTERS = 253
"""The longest host name."""
_SEPARATORS = "/@"


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one node's agent reads and how it sends it.

    `node`: the name under which the node is known; the host's name by default. `interval_ms`: distance of two
    readings. `block_seconds`: how much time one message holds, by default as much as lies between two readings of what
    changes slowly. `labels`: what else is known of the node (job, pod ...).
    `proc_root`, `sys_root`: where the kernel's file systems are mounted. `heartbeat_seconds`: distance of two
    heartbeats. `flush_seconds`: how long an ending agent tries to deliver what it holds. `queue_mebibytes`: how much is
    held in memory while Kafka can't be reached; then the oldest is dropped. `spool`: where it is held on disk instead.
    `log`: where the agent logs. `budget`: beyond which the agent slows down. `attribution`: where is looked up who runs
    what. `perf`: what the processor's counters count. `scrape`: endpoints of other programs. `hook`: where training
    hooks find the agent. `nvml`: how often NVIDIA GPUs are asked.

    Raises:
        ValueError: a setting can't work.
    """

    node: str = msgspec.field(default_factory=socket.gethostname)
    interval_ms: int = 100
    block_seconds: float | None = None
    labels: dict[str, str] = {}
    proc_root: str = "/proc"
    sys_root: str = "/sys"
    heartbeat_seconds: float = 10.0
    flush_seconds: float = 5.0
    queue_mebibytes: float = 4.0
    spool: SpoolSettings = SpoolSettings()
    log: LogSettings = LogSettings()
    budget: BudgetSettings = BudgetSettings()
    attribution: AttributionSettings = AttributionSettings()
    perf: PerfSettings = PerfSettings()
    scrape: tuple[ScrapeTarget, ...] = ()
    hook: HookSettings = HookSettings()
    nvml: NvmlSettings = NvmlSettings()

    def __post_init__(self) -> None:
        _check_node(self.node)
        check_targets(self.scrape)
        _check_labels(self.labels)
        _check_range("interval_ms", self.interval_ms, _MIN_INTERVAL_MS, _MAX_INTERVAL_MS)
        _check_range("block_seconds", self.block_ms / 1000, self.interval_ms / 1000, _MAX_BLOCK_SECONDS)
        _check_range("heartbeat_seconds", self.heartbeat_seconds, 1.0, 3600.0)
        _check_range("flush_seconds", self.flush_seconds, 0.0, 600.0)
        _check_range("queue_mebibytes", self.queue_mebibytes, 1.0, 1024.0)

    @property
    def slow_interval_ms(self) -> int:
        """Distance of two readings of what changes slowly or costs much to read: a second, or four ticks if longer.

        Where four ticks are more than two seconds, it is as many ticks as are not, or one.
        """
        ticks = max(1, min(_SLOW_TICKS, _LONGEST_SLOW_MS // self.interval_ms))
        return max(_SLOW_MS, ticks * self.interval_ms)

    @property
    def block_ms(self) -> float:
        """How much time one message holds."""
        return self.slow_interval_ms if self.block_seconds is None else self.block_seconds * 1000


def _check_node(node: str) -> None:
    if not 0 < len(node) <= _MAX_NODE_CHARACTERS:
        raise ValueError(f"agent.node must have 1 to {_MAX_NODE_CHARACTERS} characters")
    if not node.isprintable() or any(letter.isspace() or letter in _SEPARATORS for letter in node):
        raise ValueError(f"agent.node {node!r} must not contain spaces, control characters, '/' or '@'")


def _check_labels(labels: dict[str, str]) -> None:
    if len(labels) > MAX_LABELS:
        raise ValueError(f"agent.labels has {len(labels)} entries; at most {MAX_LABELS} are allowed")
    for key, value in labels.items():
        if not key or max(len(key), len(value)) > MAX_LABEL_CHARACTERS:
            raise ValueError(
                f"agent.labels: {key!r} must have a name, and name and value at most {MAX_LABEL_CHARACTERS} characters"
            )


def _check_range(name: str, value: float, smallest: float, largest: float) -> None:
    if not smallest <= value <= largest:
        raise ValueError(f"agent.{name} is {value:g}; it must lie between {smallest:g} and {largest:g}")
