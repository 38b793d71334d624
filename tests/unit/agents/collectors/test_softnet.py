"""The kernel's receive path, from /proc/net/softnet_stat."""

from pathlib import Path

import pytest

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.softnet import SoftnetReader, softnet_collector

RECORDED = Path(__file__).parents[3] / "data/proc/epyc_vm"


def test_the_recorded_cpus_are_summed_and_their_numbers_are_in_base_16() -> None:
    collector = softnet_collector(Roots(RECORDED / "proc", RECORDED / "sys"))
    assert collector.is_supported().supported
    found = dict(zip(collector.metrics(), collector.decode([collector.read()])[0], strict=True))
    # 00822abf + 0075d6ff, and 3 + 2 rounds.
    assert found == {
        "system.linux.network.softnet.events{linux.softnet.event=processed}": 8_530_623 + 7_722_751,
        "system.linux.network.softnet.events{linux.softnet.event=dropped}": 0,
        "system.linux.network.softnet.events{linux.softnet.event=squeezed}": 5,
    }


@pytest.mark.parametrize("content", [b"", b"00000001 00000002\n", b"0000000x 00000000 00000000 00000000\n"])
def test_a_file_of_another_form_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"no line|not enough|invalid literal"):
        SoftnetReader().values([content])
