"""The decoder against protobuf's own runtime, and the list's life against a clock."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.attribution.pod_resources import DeviceOwners, PodContainer, decode_list, labels_by_device
from pulsetrain.agents.attribution.protobuf import WireError
from pulsetrain.agents.errors import AgentError
from tests.unit.agents.attribution.pod_resources_message import pod_resources

GPU = "GPU-5d2c1f3e-0000-4b5a-9c7d-1234567890ab"
TRAINER = PodContainer("research", "llama-0", "main", (GPU, "mlx5_0"))

_names = st.text(max_size=20)
_containers = st.builds(PodContainer, _names, _names, _names, st.lists(_names, max_size=4).map(tuple))


class Kubelet:
    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self.answer: Any = pod_resources([TRAINER])

    def call(self) -> bytes:
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return bytes(self.answer)

    def clock(self) -> float:
        return self.seconds


@given(st.lists(_containers, max_size=5))
def test_what_protobufs_runtime_wrote_is_read(containers: list[PodContainer]) -> None:
    assert decode_list(pod_resources(containers)) == containers


@given(st.binary(max_size=200))
def test_any_bytes_are_a_list_or_a_wire_error(message: bytes) -> None:
    with suppress(WireError):
        decode_list(message)


def test_no_part_of_a_message_is_taken_for_a_whole_one_with_other_names() -> None:
    message = pod_resources([TRAINER])
    for length in range(1, len(message)):
        with pytest.raises(WireError):
            decode_list(message[:length])


def test_fields_of_later_versions_are_passed_over() -> None:
    varint, fixed_64, fixed_32, nested = b"\x78\x96\x01", b"\x79" + bytes(8), b"\x7d" + bytes(4), b"\x7a\x01\x00"
    assert decode_list(varint + fixed_64 + pod_resources([TRAINER]) + fixed_32 + nested) == [TRAINER]


def test_a_device_has_the_labels_of_its_container() -> None:
    labels = {"namespace": "research", "pod": "llama-0", "container": "main"}
    assert labels_by_device([TRAINER]) == {GPU: labels, "mlx5_0": labels}


def test_a_shared_device_has_only_what_its_users_have_in_common() -> None:
    shared = [
        PodContainer("research", "notebook-a", "main", (f"{GPU}::0",)),
        PodContainer("research", "notebook-b", "main", (f"{GPU}::1",)),
        PodContainer("serving", "triton", "main", (f"{GPU}::2",)),
    ]
    assert labels_by_device(shared[:2]) == {GPU: {"namespace": "research", "container": "main"}}
    assert labels_by_device(shared) == {GPU: {"container": "main"}}


def test_the_kubelet_is_asked_again_after_10_seconds() -> None:
    kubelet = Kubelet()
    owners = DeviceOwners(kubelet.call, kubelet.clock)
    for seconds, calls in ((0.0, 1), (9.9, 1), (10.0, 2), (19.9, 2), (20.0, 3)):
        kubelet.seconds = seconds
        assert owners.labels()[GPU]["pod"] == "llama-0"
        assert kubelet.calls == calls


def test_a_kubelet_that_restarts_keeps_its_list_for_two_minutes() -> None:
    kubelet = Kubelet()
    owners = DeviceOwners(kubelet.call, kubelet.clock)
    owners.labels()
    kubelet.answer = AgentError("kubelet.sock: Connection refused")
    for seconds, known, calls in ((10.0, 2, 2), (39.9, 2, 2), (40.0, 2, 3), (119.9, 2, 5), (130.1, 0, 6)):
        for between in range(int(kubelet.seconds), int(seconds)):
            kubelet.seconds = between
            owners.labels()
        kubelet.seconds = seconds
        assert len(owners.labels()) == known, seconds
        assert kubelet.calls == calls, seconds
    assert owners.problem == "kubelet.sock: Connection refused"
    kubelet.answer = pod_resources([TRAINER])
    kubelet.seconds = 160.2
    assert len(owners.labels()) == 2
    assert owners.problem is None


def test_an_answer_that_is_no_list_is_a_problem_and_no_labels() -> None:
    kubelet = Kubelet()
    kubelet.answer = b"\x0a\xff\xff\xff\xff\x0f"
    owners = DeviceOwners(kubelet.call, kubelet.clock)
    assert owners.labels() == {}
    assert owners.problem is not None
    assert "longer than the message" in owners.problem
