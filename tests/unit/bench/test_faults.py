"""Faults are made for as long as they should be, and nothing is left of them."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.bench.faults import KINDS, injector
from tests.bench.process_cost import tree

SECONDS = 0.1


def test_each_kind_lasts_as_long_as_it_should(tmp_path: Path) -> None:
    with injector(tmp_path) as disturb:
        faults = [disturb.inject(kind, SECONDS) for kind in KINDS]
        members = tree(disturb.pid)
    assert [fault.kind for fault in faults] == list(KINDS)
    assert all(fault.end_ns - fault.begin_ns >= SECONDS * 1e9 for fault in faults)
    assert all(one.end_ns <= following.begin_ns for one, following in pairwise(faults))
    assert len(members) == 2, "the injector and the steady load"
    for pid in members:
        with pytest.raises(OSError, match=str(pid)):
            tree(pid)
