"""Sums over a GPU's links."""

import math

import pynvml
import pytest

from tests.unit.agents.collectors.nvml.fake_pynvml import NOT_SUPPORTED, Fail, FakeGpu, FakePynvml
from tests.unit.agents.collectors.nvml.reading_of import all_of, everything_slow, first, reader_of

_SENT = "hw.gpu.io{hw.gpu.link=nvlink,network.io.direction=transmit}"
_REPLAYS = "hw.errors{error.type=nvlink_replay,hw.type=gpu}"
_CRC = "hw.errors{error.type=nvlink_crc,hw.type=gpu}"
_UP, _DOWN = (f"hw.gpu.nvlink.links{{hw.state={state}}}" for state in ("up", "down"))


def _linked(links: int = 4) -> FakeGpu:
    gpu = FakeGpu("GPU-a")
    gpu.fields[pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT] = links
    return gpu


def test_links_are_counted_by_their_state() -> None:
    gpu = _linked()
    gpu.answers["nvmlDeviceGetNvLinkState"] = lambda link: int(link != 2)

    values = all_of(gpu).values

    assert (values[_UP], values[_DOWN]) == (3.0, 1.0)


def test_links_that_do_not_tell_their_state_are_missing_and_not_down() -> None:
    gpu = _linked()
    gpu.answers["nvmlDeviceGetNvLinkState"] = Fail(NOT_SUPPORTED)

    reading = all_of(gpu)

    assert [reading.missing[metric] for metric in (_UP, _DOWN)] == ["not_supported"] * 2


def test_kibibytes_of_all_links_are_summed_in_bytes() -> None:
    gpu = _linked()
    gpu.fields[pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX] = lambda link: 100 + link

    assert all_of(gpu).values[_SENT] == (100 + 101 + 102 + 103) * 1024


def test_newer_gpus_count_bytes() -> None:
    gpu = _linked()
    gpu.fields[pynvml.NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES] = lambda link: 1000

    assert all_of(gpu).values[_SENT] == 4000


def test_older_gpus_tell_errors_of_all_links_at_once() -> None:
    gpu = _linked()
    gpu.fields[pynvml.NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL] = 5
    gpu.fields[pynvml.NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL] = 2

    values = all_of(gpu).values

    assert values[_CRC] == 7
    assert math.isnan(values[_REPLAYS])


def test_a_link_that_stops_answering_does_not_make_the_sum_fall() -> None:
    gpu, now = _linked(), [0.0]
    gpu.fields[pynvml.NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY] = lambda link: 10
    reader = reader_of(FakePynvml(gpu), everything_slow(), now)
    before = first(reader.read()).values[_REPLAYS]
    gpu.fields[pynvml.NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY] = lambda link: Fail(NOT_SUPPORTED) if link == 3 else 11

    assert before == 40
    assert first(reader.read()).values[_REPLAYS] == 43


@pytest.mark.parametrize(("count", "reason"), [(0, "no_nvlink"), (Fail(NOT_SUPPORTED), "not_supported")])
def test_a_gpu_without_links_says_so(count: int | Fail, reason: str) -> None:
    gpu = FakeGpu("GPU-a")
    gpu.fields[pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT] = count

    reading = all_of(gpu)

    assert [reading.missing[metric] for metric in (_UP, _SENT, _CRC)] == [reason] * 3
