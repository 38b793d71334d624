"""Paths as the runtimes make them; ids and UIDs are made up, of the right length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.attribution.cgroup_paths import (
    MAX_PATH_CHARACTERS,
    labels_in_cgroup_file,
    labels_in_path,
)

ID = "4fd0c1bb07f4a1b3e9d8c7b6a5948372615049382716f5e4d3c2b1a09f8e7d6c"
OTHER_ID = "b" * 64
UID = "6f1c2a34-9b7d-4e21-8a55-0c1d2e3f4a5b"
UID_IN_SLICE = UID.replace("-", "_")
STATIC_UID = "8b1f6c0d2e3a4b5c6d7e8f9012345678"


@pytest.mark.parametrize(
    "path",
    [
        f"/docker/{ID}",
        f"/system.slice/docker-{ID}.scope",
        f"/docker/{OTHER_ID}/docker/{ID}",
        f"/docker/{ID}/init.scope",
        f"/default/{ID}",
        f"/system.slice/nerdctl-{ID}.scope",
        f"/machine.slice/libpod-{ID}.scope/container",
        f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope",
        f"/machine.slice/machine-libpod_pod_{OTHER_ID}.slice/libpod-{ID}.scope",
        f"/libpod_parent/libpod-{ID}",
        f"/../../docker-{ID}.scope",
        f"/ecs/0123456789abcdef0123456789abcdef/{ID}",
        f"/sys/fs/cgroup/memory/docker/{ID}",
    ],
)
def test_the_container_id_is_found_in_paths_of_docker_containerd_and_podman(path: str) -> None:
    assert labels_in_path(path) == {"container_id": ID}


@pytest.mark.parametrize(
    "path",
    [
        f"/kubepods/burstable/pod{UID}/{ID}",
        f"/kubepods/besteffort/pod{UID}/{ID}",
        f"/kubepods/pod{UID}/{ID}",
        f"/kubelet/kubepods/pod{UID}/{ID}",
        f"/kubepods/burstable/pod{UID}/crio-{ID}",
        f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID_IN_SLICE}.slice/cri-containerd-{ID}.scope",
        f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{UID_IN_SLICE}.slice/crio-{ID}.scope",
        f"/kubepods.slice/kubepods-pod{UID_IN_SLICE}.slice/docker-{ID}.scope",
        f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{UID_IN_SLICE}.slice/cri-containerd-{ID}.scope",
        f"/system.slice/containerd.service/kubepods-burstable-pod{UID_IN_SLICE}.slice:cri-containerd:{ID}",
        f"/docker/{OTHER_ID}/kubelet/kubepods/burstable/pod{UID}/{ID}",
        f"/../../kubepods-pod{UID_IN_SLICE}.slice/cri-containerd-{ID}.scope",
        f"/sys/fs/cgroup/kubepods.slice/kubepods-pod{UID_IN_SLICE}.slice/crio-{ID}.scope/container",
    ],
)
def test_pod_and_container_are_found_in_paths_of_the_kubelet(path: str) -> None:
    assert labels_in_path(path) == {"pod_uid": UID, "container_id": ID}


def test_a_static_pod_has_a_hash_for_its_uid() -> None:
    path = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{STATIC_UID}.slice/crio-{ID}.scope"
    assert labels_in_path(path) == {"pod_uid": STATIC_UID, "container_id": ID}


def test_a_pods_own_group_is_no_container_even_inside_one() -> None:
    assert labels_in_path(f"/docker/{OTHER_ID}/kubepods/burstable/pod{UID}") == {"pod_uid": UID}


@pytest.mark.parametrize(
    "path",
    [
        "/slurm/uid_1000/job_8412/step_0/task_3",
        "/slurm_gpu017/uid_1000/job_8412/step_batch",
        "/system.slice/slurmstepd.scope/job_8412/step_0/user/task_3",
        "/system.slice/gpu017_slurmstepd.scope/job_8412/step_extern/user",
        "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_8412",
    ],
)
def test_the_job_is_found_in_paths_of_slurm(path: str) -> None:
    assert labels_in_path(path) == {"job": "8412"}


def test_a_container_inside_a_slurm_job_has_both() -> None:
    path = f"/system.slice/slurmstepd.scope/job_8412/step_0/user/task_0/libpod-{ID}.scope"
    assert labels_in_path(path) == {"job": "8412", "container_id": ID}


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/user.slice/user-1000.slice/session-3.scope",
        "/system.slice/docker.service",
        "/process_api/0d92d270f64f0e6a40eb374c892cd61c",
        f"/docker/{ID[:63]}",
        f"/docker/{ID}0",
        f"/docker/{ID.upper()}",
        f"/machine.slice/libpod-conmon-{ID}.scope",
        f"/system.slice/crio-conmon-{ID}.scope",
        "/batch/job_8412/step_0",
        "/slurm/uid_1000/job_x",
        f"/kubepods/burstable/pod{UID[:-1]}",
        f"/kubepods-pod{UID}\n",
        "/a" * MAX_PATH_CHARACTERS + f"/docker/{ID}",
    ],
)
def test_other_paths_have_no_labels(path: str) -> None:
    assert labels_in_path(path) == {}


def test_hierarchies_of_version_1_complete_each_other() -> None:
    content = (
        "12:pids:/\n"
        f"11:memory:/kubepods/burstable/pod{UID}\n"
        f"4:cpu,cpuacct:/kubepods/burstable/pod{UID}/{ID}\n"
        "1:name=systemd:/init.scope\n"
        "0::/\n"
    )
    assert labels_in_cgroup_file(content) == {"pod_uid": UID, "container_id": ID}


def test_a_file_of_version_2_has_one_line_and_a_path_may_hold_colons() -> None:
    path = f"/system.slice/containerd.service/kubepods-burstable-pod{UID_IN_SLICE}.slice:cri-containerd:{ID}"
    assert labels_in_cgroup_file(f"0::{path}\n") == {"pod_uid": UID, "container_id": ID}


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert labels_in_path(text).keys() <= {"container_id", "pod_uid", "job"}
    assert labels_in_cgroup_file(text).keys() <= {"container_id", "pod_uid", "job"}
