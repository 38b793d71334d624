"""Debian's monitoring programs run on our configuration, and their samples can be counted."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType

import pytest

from tests.bench.peers import collectd, netdata, node_exporter
from tests.bench.peers.peer import Peer
from tests.bench.process_cost import tree_cpu_seconds
from tests.debian_programs import debian_program
from tests.processes import wait_until

_PEERS: list[tuple[ModuleType, Callable[[Path], AbstractContextManager[Peer]]]] = [
    (netdata, netdata.netdata),
    (collectd, lambda folder: collectd.collectd(100, folder)),
    (node_exporter, lambda _: node_exporter.node_exporter(100)),
]


@pytest.mark.parametrize(("module", "start"), _PEERS, ids=[module.PACKAGE for module, _ in _PEERS])
def test_a_neighbour_produces_samples_of_at_least_a_hundred_series(
    module: ModuleType, start: Callable[[Path], AbstractContextManager[Peer]], tmp_path: Path
) -> None:
    debian_program(Path(module.PROGRAM).name, module.PACKAGE)
    with start(tmp_path) as peer, peer.in_use():
        peer.begin()
        wait_until(f"samples of {module.PACKAGE}", lambda: peer.end() > 500 and peer.series() > 100)
        assert peer.end() >= peer.series()
        assert tree_cpu_seconds(peer.pid) > 0
