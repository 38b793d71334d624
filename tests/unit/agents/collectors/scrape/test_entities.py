"""Whom a series describes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.scrape.entities import described_by
from pulsetrain.schemas.identity import MAX_LABEL_CHARACTERS, MAX_LABELS

UTIL = "DCGM_FI_DEV_GPU_UTIL"
CPU = "container_cpu_usage_seconds_total"
ID = "0123456789abcdef" * 4


def entity(name: str, **labels: str) -> str | None:
    found = described_by(name, labels, "t")
    return None if found is None else found.entity


def labels(name: str, **given_labels: str) -> dict[str, str]:
    found = described_by(name, given_labels, "t")
    assert found is not None
    return dict(found.labels)


def test_a_gpu_keeps_its_name_when_its_index_changes() -> None:
    before = [entity(UTIL, gpu="0", UUID="GPU-a"), entity(UTIL, gpu="1", UUID="GPU-b")]
    after = [entity(UTIL, gpu="1", UUID="GPU-a"), entity(UTIL, gpu="0", UUID="GPU-b")]
    assert before == after == ["gpu:GPU-a", "gpu:GPU-b"]


@pytest.mark.parametrize("spelled", ["Hostname", "hostname"])
def test_the_pod_of_the_exporter_is_no_part_of_who_a_gpu_is(spelled: str) -> None:
    first = described_by(UTIL, {"UUID": "GPU-a", spelled: "dcgm-exporter-x1y2z"}, "t")
    assert first == described_by(UTIL, {"UUID": "GPU-a", spelled: "dcgm-exporter-q9r8s"}, "t")


def test_an_empty_label_is_an_absent_one() -> None:
    assert labels(UTIL, UUID="GPU-a", pod="", namespace="", container="", modelName="H100") == {"hw.model": "H100"}
    assert labels(UTIL, UUID="GPU-a", pod="p", namespace="n", container="c") == {
        "pod": "p", "namespace": "n", "container": "c"
    }  # fmt: skip


def test_a_gpu_without_a_uuid_is_nobody() -> None:
    assert entity(UTIL, gpu="0") is None
    assert entity(UTIL, gpu="0", UUID="") is None


def test_an_instance_of_a_partitioned_gpu_is_apart_from_the_gpu() -> None:
    assert entity(UTIL, UUID="GPU-a", GPU_I_ID="") == "gpu:GPU-a"
    assert entity(UTIL, UUID="GPU-a", GPU_I_ID="7", GPU_I_PROFILE="1g.10gb") == "gpu:GPU-a:gi7"


def test_labels_that_are_not_about_the_entity_tell_its_series_apart() -> None:
    found = described_by("DCGM_EXP_X", {"UUID": "GPU-a", "Hostname": "x1", "pod": "p", "xid": "31"}, "t")
    assert found is not None
    assert found.others == {"xid": "31"}


def test_tritons_gpu_is_the_same_as_dcgms() -> None:
    assert entity("nv_gpu_utilization", gpu_uuid="GPU-a") == entity(UTIL, UUID="GPU-a")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"/docker/{ID}", "container:0123456789ab"),
        (f"/system.slice/docker-{ID}.scope", "container:0123456789ab"),
        (
            f"/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-{ID}.scope",
            "container:0123456789ab",
        ),
        ("/kubepods/burstable/pod01234567-89ab-cdef-0123-456789abcdef", "pod:01234567-89ab-cdef-0123-456789abcdef"),
        ("/slurm/uid_1000/job_42", "container:job_42"),
        ("testcontainer", "container:testcontaine"),
        ("/", None),
        ("/kubepods.slice", None),
        ("/system.slice/ssh.service", None),
        ("", None),
    ],
)
def test_a_container_is_known_by_its_control_group(path: str, expected: str | None) -> None:
    assert entity(CPU, id=path) == expected


@pytest.mark.parametrize("container", ["", "POD"])
def test_the_sandbox_of_a_pod_is_no_container_and_its_network_is_the_pods(container: str) -> None:
    uid = "01234567-89ab-cdef-0123-456789abcdef"
    path = f"/kubepods.slice/kubepods-pod{uid.replace('-', '_')}.slice/cri-containerd-{ID}.scope"
    sandbox = {"id": path, "container": container, "pod": "p", "image": "registry.k8s.io/pause:3.9"}
    assert entity(CPU, **sandbox) is None
    network = described_by("container_network_receive_bytes_total", sandbox | {"interface": "eth0"}, "t")
    assert network is not None
    assert network.entity == f"pod:{uid}"
    assert network.labels == {"pod": "p", "pod_uid": uid}
    # Where nobody tells containers' names, as in cAdvisor without the kubelet, none is taken for a sandbox.
    assert entity(CPU, id=path) == "container:0123456789ab"
    assert entity(CPU, **sandbox | {"container": "train"}) == "container:0123456789ab"


def test_older_kubelets_spell_pod_and_container_otherwise() -> None:
    told = labels(CPU, id=f"/docker/{ID}", pod_name="p", container_name="c", namespace="n", image="i")
    assert told == {"pod": "p", "container": "c", "namespace": "n", "image": "i", "container_id": ID}


def test_a_model_is_known_by_name_and_version() -> None:
    assert entity("nv_inference_count", model="bert", version="2") == "model:bert:2"
    assert entity("nv_inference_count", model="a/b:c d", version="2") == "model:a%2Fb%3Ac%20d:2"
    assert entity("nv_cache_util") == "triton:t"


def test_what_exporters_say_of_their_machine_is_not_the_agents_host() -> None:
    assert entity("node_load1") == "node_exporter:t"
    assert entity("anything", x="y") == "exporter:t"


NAMES = st.sampled_from([UTIL, CPU, "nv_inference_count", "nv_gpu_utilization", "node_load1", "else"])
KEYS = st.sampled_from(["UUID", "gpu_uuid", "GPU_I_ID", "id", "model", "version", "pod", "image", "name", "gpu", "a"])


@given(NAMES, st.dictionaries(KEYS, st.text(max_size=400)))
def test_whatever_the_labels_are_an_entity_is_one_name_and_its_labels_fit_a_block(
    name: str, given_labels: dict[str, str]
) -> None:
    found = described_by(name, given_labels, "t")
    if found is None:
        return
    assert 0 < len(found.entity) <= 240
    assert found.entity.isascii()
    assert found.entity.isprintable()
    assert not set(found.entity) & set("/@ ")
    assert len(found.labels) < MAX_LABELS - 32
    assert all(0 < len(value) <= MAX_LABEL_CHARACTERS for value in found.labels.values())
