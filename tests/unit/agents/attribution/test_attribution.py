"""Whom pids, groups and devices belong to, in a made /proc and on the machine itself."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from pulsetrain.agents.attribution.attribution import Attribution
from pulsetrain.agents.attribution.pod_resources import PodContainer
from pulsetrain.agents.attribution.settings import AttributionSettings
from tests.unit.agents.attribution.pod_resources_message import pod_resources
from tests.unit.agents.attribution.test_unary_call import kubelet

ID = "4fd0c1bb07f4a1b3e9d8c7b6a5948372615049382716f5e4d3c2b1a09f8e7d6c"
UID = "6f1c2a34-9b7d-4e21-8a55-0c1d2e3f4a5b"
POD_PATH = f"/kubepods/burstable/pod{UID}/{ID}"
NAMES = {"namespace": "research", "pod": "llama-0", "container": "main"}
GPU = "GPU-5d2c1f3e-0000-4b5a-9c7d-1234567890ab"


class Node:
    """A node's files, and its clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds = 0.0
        self.settings = AttributionSettings(
            kubelet_socket=str(folder / "kubelet.sock"), container_logs=str(folder / "containers")
        )
        (folder / "containers").mkdir()

    def attribution(self) -> Attribution:
        return Attribution(self.folder / "proc", self.settings, lambda: self.seconds)

    def process(self, pid: int, cgroup: str, environ: bytes = b"", start: int = 100) -> None:
        of_pid = self.folder / "proc" / str(pid)
        of_pid.mkdir(parents=True, exist_ok=True)
        # A command may hold spaces and brackets.
        (of_pid / "stat").write_text(f"{pid} (python3 (v) x) S " + "0 " * 18 + f"{start} 0 0\n")
        (of_pid / "cgroup").write_text(f"0::{cgroup}\n")
        (of_pid / "environ").write_bytes(environ)

    def log(self, container_id: str) -> None:
        (self.folder / "containers" / f"llama-0_research_main-{container_id}.log").symlink_to("/nowhere")


@pytest.fixture
def node() -> Iterator[Node]:
    with TemporaryDirectory() as folder:
        yield Node(Path(folder))


def test_a_pods_process_has_everything_that_can_be_told(node: Node) -> None:
    node.process(7, POD_PATH, b"RANK=3\0TORCHELASTIC_RUN_ID=llama\0SECRET=hunter2\0")
    node.log(ID)
    labels = {"job": "llama", "rank": "3", "pod_uid": UID, "container_id": ID, **NAMES}
    assert node.attribution().labels_of_pid(7) == labels


def test_the_kernels_word_wins_over_the_environment(node: Node) -> None:
    node.process(7, "/slurm/uid_0/job_8412/step_0/task_0", b"SLURM_JOB_ID=1\0JOB_NAME=other\0SLURM_PROCID=5\0")
    node.process(8, POD_PATH, b"POD_NAME=somebody-else\0POD_NAMESPACE=kube-system\0")
    node.log(ID)
    attribution = node.attribution()
    assert attribution.labels_of_pid(7) == {"job": "8412", "rank": "5"}
    assert attribution.labels_of_pid(8) == {"pod_uid": UID, "container_id": ID, **NAMES}


def test_where_the_environment_is_off_none_is_read(node: Node) -> None:
    node.process(7, POD_PATH, b"RANK=3\0")
    settings = AttributionSettings(container_logs=node.settings.container_logs, environment=False)
    assert Attribution(node.folder / "proc", settings).labels_of_pid(7) == {"pod_uid": UID, "container_id": ID}


def test_a_process_that_is_gone_has_no_labels(node: Node) -> None:
    assert node.attribution().labels_of_pid(7) == {}


def test_a_new_process_with_an_old_number_is_looked_up_anew(node: Node) -> None:
    attribution = node.attribution()
    node.process(7, "/", b"RANK=3\0", start=100)
    assert attribution.labels_of_pid(7) == {"rank": "3"}
    node.process(7, "/", b"RANK=4\0", start=100)
    assert attribution.labels_of_pid(7) == {"rank": "3"}, "remembered"
    node.process(7, "/", b"RANK=5\0", start=200)
    assert attribution.labels_of_pid(7) == {"rank": "5"}
    node.process(7, "/system.slice/slurmstepd.scope/job_1", b"RANK=5\0", start=200)
    node.seconds = 30.0
    assert attribution.labels_of_pid(7) == {"rank": "5", "job": "1"}, "moved to another group"


def test_a_control_group_has_the_names_of_its_container_once_the_kubelet_wrote_them(node: Node) -> None:
    attribution = node.attribution()
    ids = {"pod_uid": UID, "container_id": ID}
    assert attribution.labels_of_cgroup(POD_PATH) == ids
    node.log(ID)
    node.seconds = 30.0
    assert attribution.labels_of_cgroup(POD_PATH) == {**ids, **NAMES}
    assert attribution.labels_of_cgroup(f"/sys/fs/cgroup/memory{POD_PATH}") == {**ids, **NAMES}
    assert attribution.labels_of_cgroup("/system.slice/sshd.service") == {}


def test_a_device_has_the_labels_of_the_container_that_the_kubelet_gave_it_to(node: Node) -> None:
    attribution = node.attribution()
    assert attribution.labels_of_device(GPU) == {}, "no kubelet yet"
    containers = [PodContainer("research", "llama-0", "main", (GPU,))]
    with kubelet(Path(node.settings.kubelet_socket), lambda request, context: pod_resources(containers)):
        node.seconds = 30.0
        assert attribution.labels_of_device(GPU) == NAMES
        assert attribution.labels_of_device("GPU-of-nobody") == {}


def test_labels_come_from_this_machines_own_processes() -> None:
    variables = {**os.environ, "RANK": "12", "SLURM_JOB_ID": "8412", "POD_NAME": "trainer-0", "TOKEN": "hunter2"}
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdout.readline(), "the child has begun"
        labels = Attribution().labels_of_pid(child.pid)
        child.communicate()
    assert {name: labels.get(name) for name in ("rank", "job", "pod")} == {
        "rank": "12",
        "job": "8412",
        "pod": "trainer-0",
    }
    assert "hunter2" not in str(labels)


def test_sources_say_what_is_looked_up_here_and_why_not(node: Node) -> None:
    node.process(1, "/")
    attribution = node.attribution()
    reasons = {source: support.reason for source, support in attribution.sources().items()}
    proc = node.folder / "proc"
    assert reasons == {
        f"{proc}/<pid>/cgroup": f"{proc}/self/cgroup does not exist",
        f"{proc}/<pid>/environ": "",
        str(node.folder / "containers"): "",
        str(node.folder / "kubelet.sock"): f"{node.folder}/kubelet.sock: No such file or directory",
    }
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(node.settings.kubelet_socket)
        assert attribution.sources()[node.settings.kubelet_socket].supported


def test_no_kubelet_library_is_loaded_where_there_is_no_kubelet(node: Node) -> None:
    script = (
        "import sys; from pulsetrain.agents.attribution.attribution import Attribution; "
        "from pulsetrain.agents.attribution.settings import AttributionSettings as Settings; "
        f"attribution = Attribution(settings=Settings(kubelet_socket='{node.folder}/none')); "
        "assert not attribution.labels_of_device('GPU-1'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.split())
    assert "pulsetrain.agents.attribution.attribution" in modules
    assert not modules & {"h2", "grpc", "google.protobuf"}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"kubelet_socket": "kubelet.sock"}, "kubelet_socket 'kubelet.sock' must be a path from the root"),
        ({"container_logs": ""}, "container_logs '' must be a path from the root"),
        ({"kubelet_socket": "/" + "s" * 107}, "kubelet_socket has more than 107 bytes"),
    ],
)
def test_places_that_can_not_be_are_refused(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=problem):
        msgspec.convert(settings, AttributionSettings)
