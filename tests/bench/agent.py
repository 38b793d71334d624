"""What the node agent and the training hook cost on this machine; beside them netdata, collectd and node_exporter.

All run at once, and one is measured while the others stand still, in rounds that take turns. Programs that aren't
installed are left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import ModuleType

from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from pulsetrain.schemas.topics import TopicNames
from tests.bench import hook
from tests.bench.figures import Figure
from tests.bench.peers import collectd, netdata, node_exporter
from tests.bench.peers.floor import floor
from tests.bench.peers.peer import Peer
from tests.bench.peers.pulsetrain import pulsetrain_agent
from tests.bench.peers.slices import Slice, measure_in_turns
from tests.bench.process_cost import proportional_mib, resident_mib, tree
from tests.bench.rounds import median_ratio

_ROUNDS = 5
_WARM_UP_SECONDS = 1.0
_SLICE_SECONDS = 6.0
_INTERVAL_MS, _SLOW_INTERVAL_MS = 100, 500

_OURS, _OURS_SLOW, _FLOOR = "agent", "agent_500ms", "floor"
_OTHERS: Mapping[str, ModuleType] = {"netdata": netdata, "collectd": collectd, "node_exporter": node_exporter}
_SAID = {
    "netdata": "netdata at 1 s, its shortest interval: collector of /proc alone",
    "collectd": "collectd at 100 ms, ten plugins, sending values over UDP",
    "node_exporter": "node_exporter, ten collectors, scraped every 100 ms over one connection",
    _FLOOR: "bare Python loop that reads the agent's files every 100 ms, nothing decoded or sent",
}
_MEDIAN = f"median of {_ROUNDS} times {_SLICE_SECONDS:.0f} s"


def _figures_beside(name: str) -> Iterator[Figure]:
    said, needs = _SAID[name], f"Debian's {_OTHERS[name].PACKAGE}" if name in _OTHERS else ""
    yield Figure(f"{name}_cpu_percent", "% of a core", f"{said}; {_MEDIAN}", needs)
    yield Figure(f"{name}_rss_mib", "MiB", "its resident memory after that, all processes", needs)
    yield Figure(f"{name}_pss_mib", "MiB", "the same, shared pages by part", needs)
    yield Figure(f"{name}_metrics", "metrics", "different series that it produced", needs)
    yield Figure(f"{name}_samples_per_s", "samples/s", "values that it produced", needs)
    yield Figure(f"{name}_cpu_ms_per_1000_samples", "ms", "its CPU time for them", needs)
    yield Figure(f"{name}_vs_agent", "ratio", f"that / the agent's; median of {_ROUNDS} rounds", needs)


FIGURES = (
    Figure("cpu_percent_100ms", "% of a core", f"`pulsetrain agent` at 100 ms, all processes; {_MEDIAN}"),
    Figure("rss_mib_100ms", "MiB", "resident memory of the agent's process after that, shared libraries included"),
    Figure("children_rss_mib_100ms", "MiB", "the same of its child, `perf stat`"),
    Figure("pss_mib_100ms", "MiB", "all processes, shared pages by part"),
    Figure("metrics", "metrics", "different series that it sent"),
    Figure("samples_per_s", "samples/s", "values that it sent"),
    Figure("cpu_ms_per_1000_samples", "ms", "its CPU time for them"),
    Figure("cpu_percent_500ms", "% of a core", f"`pulsetrain agent` at 500 ms; {_MEDIAN}"),
    Figure("rss_mib_500ms", "MiB", "resident memory of its process after that"),
    *(figure for name in _SAID for figure in _figures_beside(name)),
    *hook.FIGURES,
)


def run() -> dict[str, float]:
    """Agents as an operator starts them send to a broker in this process; the others run on files of ours."""
    with TemporaryDirectory(prefix="pulsetrain-bench-") as folder, _running(Path(folder)) as peers:
        slices = measure_in_turns(peers, _ROUNDS, _WARM_UP_SECONDS, _SLICE_SECONDS)
        values = {name: _values(peer, slices[name]) for name, peer in peers.items()}
    ours, slow = values.pop(_OURS), values.pop(_OURS_SLOW)
    named = {
        "cpu_percent_100ms": ours["cpu_percent"],
        "rss_mib_100ms": ours["rss_mib"] - ours["children_rss_mib"],
        "children_rss_mib_100ms": ours["children_rss_mib"],
        "pss_mib_100ms": ours["pss_mib"],
        "metrics": ours["metrics"],
        "samples_per_s": ours["samples_per_s"],
        "cpu_ms_per_1000_samples": ours["cpu_ms_per_1000_samples"],
        "cpu_percent_500ms": slow["cpu_percent"],
        "rss_mib_500ms": slow["rss_mib"] - slow["children_rss_mib"],
    }
    for name, others in values.items():
        named |= {f"{name}_{figure}": value for figure, value in others.items() if figure != "children_rss_mib"}
        named[f"{name}_vs_agent"] = _ratio(slices[name], slices[_OURS])
    return named | hook.run()


@contextmanager
def _running(folder: Path) -> Iterator[dict[str, Peer]]:
    """All programs by name, each with a folder of its own; those that aren't installed are left out."""
    with EmbeddedBroker() as broker, ExitStack() as stack:
        topics = TopicNames()
        broker.declare([topics.samples, topics.status])
        starts: dict[str, Callable[[Path], AbstractContextManager[Peer]]] = {
            _OURS: partial(pulsetrain_agent, _INTERVAL_MS, broker.bootstrap),
            _OURS_SLOW: partial(pulsetrain_agent, _SLOW_INTERVAL_MS, broker.bootstrap),
            "netdata": netdata.netdata,
            "collectd": partial(collectd.collectd, _INTERVAL_MS),
            "node_exporter": lambda _: node_exporter.node_exporter(_INTERVAL_MS),
            _FLOOR: partial(floor, _INTERVAL_MS),
        }
        peers: dict[str, Peer] = {}
        for name, start in starts.items():
            if name in _OTHERS and not Path(_OTHERS[name].PROGRAM).exists():
                continue
            own_folder = folder / name
            own_folder.mkdir()
            peers[name] = stack.enter_context(start(own_folder))
        yield peers


def _values(peer: Peer, slices: Sequence[Slice]) -> dict[str, float]:
    pids = tree(peer.pid)
    return {
        "cpu_percent": median(part.cpu_percent for part in slices),
        "rss_mib": resident_mib(pids),
        "children_rss_mib": resident_mib(pids[1:]),
        "pss_mib": proportional_mib(pids),
        "metrics": float(peer.series()),
        "samples_per_s": median(part.samples / part.seconds for part in slices),
        "cpu_ms_per_1000_samples": median(part.cpu_ms_per_1000_samples for part in slices),
    }


def _ratio(slices: Sequence[Slice], ours: Sequence[Slice]) -> float:
    return median_ratio(*([part.cpu_ms_per_1000_samples for part in side] for side in (slices, ours)))
