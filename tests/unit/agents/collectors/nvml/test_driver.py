"""The library comes when it comes, goes, and comes again."""

import threading
from collections.abc import Iterator

import pynvml
import pytest

from pulsetrain.agents.collectors.nvml.driver import Driver
from pulsetrain.agents.collectors.nvml.gate import GateClosedError
from pulsetrain.agents.collectors.nvml.library import Nvml
from pulsetrain.agents.errors import CollectError
from tests.unit.agents.collectors.nvml.fake_pynvml import GPU_IS_LOST, UNKNOWN, WAIT_SECONDS, FakeGpu, FakePynvml


class _Node:
    def __init__(self) -> None:
        self.module = FakePynvml(FakeGpu("GPU-a", 1), FakeGpu("GPU-b", 2))
        self.now = 0.0
        self.driver = Driver(lambda: Nvml(self.module), lambda: self.now)

    def uuids(self) -> list[str]:
        return [gpu.uuid for gpu in self.driver.refreshed(WAIT_SECONDS).gpus]


@pytest.fixture
def node() -> Iterator[_Node]:
    made = _Node()
    yield made
    made.driver.close()


def test_the_gpus_are_shown(node: _Node) -> None:
    assert node.uuids() == ["GPU-a", "GPU-b"]


def test_the_drivers_version_is_logged_when_it_is_new(node: _Node, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for version in ("550.163.01", "550.163.01", "570.86.15"):
        vars(node.module)["nvmlSystemGetDriverVersion"] = lambda version=version: version
        node.driver.restart("test")
        node.uuids()

    told = [record.message for record in caplog.records if record.levelname == "INFO"]
    assert [message.split()[-1] for message in told] == ["550.163.01", "570.86.15"]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (18, "different versions"),
        (12, "libnvidia-ml.so.1 was not found"),
        (9, "driver is not loaded"),
        (999, "unknown"),
    ],
)
def test_what_can_not_be_initialised_now_is_said_and_comes_back_by_itself(
    node: _Node, code: int, sentence: str
) -> None:
    node.module.failure = code
    with pytest.raises(CollectError, match=sentence):
        node.uuids()
    node.module.failure = None
    node.now = 900.0

    assert node.uuids() == ["GPU-a", "GPU-b"]


def test_a_library_that_fails_is_tried_ever_less_often(node: _Node) -> None:
    node.module.failure = 18
    for second in range(900):
        node.now = float(second)
        with pytest.raises(CollectError):
            node.uuids()

    # After 1, 2, 4, 8, 16 and 32 seconds, then once a minute.
    assert 15 <= node.module.calls["nvmlInit"] <= 22


def test_a_module_that_can_not_be_imported_is_said() -> None:
    def fails() -> Nvml:
        raise ImportError("No module named 'pynvml'")

    driver = Driver(fails)

    with pytest.raises(CollectError, match="No module named 'pynvml'"):
        driver.refreshed(WAIT_SECONDS)
    driver.close()


def test_the_library_is_forgotten_after_an_upgrade_so_that_the_new_one_is_loaded(
    node: _Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    unloaded: list[bool] = []
    monkeypatch.setattr(Nvml, "unload", lambda self: unloaded.append(True))
    node.module.failure = pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH

    with pytest.raises(CollectError):
        node.uuids()

    assert unloaded == [True]


def test_gpus_are_looked_at_again_only_when_it_is_due(node: _Node) -> None:
    node.uuids()
    node.now = 1.0
    node.uuids()
    once = node.module.calls["nvmlDeviceGetCount"]
    node.now = 6.0
    node.uuids()

    assert (once, node.module.calls["nvmlDeviceGetCount"]) == (1, 2)


def test_a_gpu_that_is_lost_leaves_the_others_shown(node: _Node) -> None:
    node.module.gpus[0].failure = GPU_IS_LOST

    session = node.driver.refreshed(WAIT_SECONDS)

    assert [gpu.uuid for gpu in session.gpus] == ["GPU-b"]
    assert session.unreadable == {0: GPU_IS_LOST}


def test_a_gpu_that_does_not_even_say_who_it_is_leaves_the_others_shown(node: _Node) -> None:
    released = node.module.gpus[1].hangs_in["nvmlDeviceGetUUID"] = threading.Event()

    session = node.driver.refreshed(WAIT_SECONDS)

    assert [gpu.uuid for gpu in session.gpus] == ["GPU-a"]
    assert session.unreadable == {1: pynvml.NVML_ERROR_TIMEOUT}
    released.set()


def test_a_restart_begins_another_session_and_ends_the_old_one(node: _Node) -> None:
    old = node.driver.refreshed(WAIT_SECONDS)
    node.driver.restart("test")

    new = node.driver.refreshed(WAIT_SECONDS)

    assert new.number == old.number + 1
    assert node.module.initialised == 1
    with pytest.raises(GateClosedError), node.driver.calls(old):
        pass
    with node.driver.calls(new):
        pass


def test_what_is_held_is_given_back_before_the_library_is_shut_down(node: _Node) -> None:
    class Held:
        def __init__(self, module: FakePynvml) -> None:
            self.initialised_when_closed: list[int] = []
            self._module = module

        def close(self) -> None:
            self.initialised_when_closed.append(self._module.initialised)

    held = Held(node.module)
    node.driver.refreshed(WAIT_SECONDS).held.append(held)
    node.driver.restart("test")
    node.driver.refreshed(WAIT_SECONDS)

    assert held.initialised_when_closed == [1]


def test_no_restart_happens_under_a_hanging_call(node: _Node) -> None:
    old = node.driver.refreshed(WAIT_SECONDS)
    with node.driver.calls(old):
        node.driver.restart("test")
        assert node.driver.refreshed(WAIT_SECONDS).number == old.number
    node.driver.restart("test")

    assert node.driver.refreshed(WAIT_SECONDS).number == old.number + 1


def test_a_driver_that_stops_counting_gpus_ends_the_session_and_comes_back(node: _Node) -> None:
    node.uuids()
    node.module.count_failure = UNKNOWN
    node.now = 6.0

    with pytest.raises(CollectError, match="unknown"):
        node.uuids()

    assert node.module.initialised == 0
    node.module.count_failure = None
    node.now = 70.0
    assert node.uuids() == ["GPU-a", "GPU-b"]


def test_a_library_that_hangs_is_said_and_not_waited_for() -> None:
    module, released = FakePynvml(), threading.Event()
    vars(module)["nvmlInit"] = lambda: released.wait(WAIT_SECONDS)
    driver = Driver(lambda: Nvml(module))

    for _ in range(3):
        with pytest.raises(CollectError, match="has not answered for"):
            driver.refreshed(0.01)

    released.set()
    driver.close()


def test_who_waits_briefly_is_not_held_up_by_who_waits_long(node: _Node) -> None:
    node.uuids()
    asked, released = threading.Event(), threading.Event()

    def hangs() -> int:
        asked.set()
        assert released.wait(WAIT_SECONDS)
        return 2

    vars(node.driver.refreshed(WAIT_SECONDS).nvml)["nvmlDeviceGetCount"] = hangs
    node.now = 6.0
    patient = threading.Thread(target=node.uuids)
    patient.start()
    assert asked.wait(WAIT_SECONDS)

    session = node.driver.refreshed(0.01)

    assert patient.is_alive()
    assert [gpu.uuid for gpu in session.gpus] == ["GPU-a", "GPU-b"]
    released.set()
    patient.join(WAIT_SECONDS)


def test_closing_shuts_the_library_down() -> None:
    node = _Node()
    node.uuids()

    node.driver.close()

    assert node.module.initialised == 0
