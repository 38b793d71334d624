"""What of NVML is called, and that nothing of it changes a device."""

import ast
import ctypes
import re
from pathlib import Path

import pynvml
import pytest

from pulsetrain.agents.collectors import nvml as package
from pulsetrain.agents.collectors.nvml.library import READING_CALLS, Nvml, code_of
from tests.unit.agents.collectors.nvml.fake_pynvml import FakePynvml

_OF_THIS_PROCESS = {
    "nvmlInit",
    "nvmlShutdown",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleAlloc",
    "nvmlGpmSampleGet",
    "nvmlGpmMigSampleGet",
    "nvmlGpmMetricsGet",
    "nvmlGpmSampleFree",
    "nvmlEventSetCreate",
    "nvmlDeviceRegisterEvents",
    "nvmlEventSetWait_v2",
    "nvmlEventSetFree",
}


def _names_in_package() -> set[str]:
    found = set()
    for file in Path(package.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return {name for name in found if re.fullmatch(r"_?nvml[A-Z]\w*", name)}


def test_every_call_only_gets_or_is_about_memory_of_this_process() -> None:
    others = {name for name in READING_CALLS if not re.match(r"nvml(System|Device)Get", name)}

    assert others == _OF_THIS_PROCESS


def test_no_call_has_a_verb_that_changes_a_device() -> None:
    verbs = re.compile(r"Set|Reset|Clear|Freeze|Modify|Remove|Discover|Destroy|Update|Activate|Validate")

    assert [name for name in READING_CALLS if verbs.search(name.replace("EventSet", ""))] == []


def test_the_package_names_no_other_function_of_nvml() -> None:
    functions = {name for name in _names_in_package() if callable(getattr(pynvml, name.lstrip("_"), None))}

    assert functions - READING_CALLS == set()
    assert functions == READING_CALLS


def test_all_calls_are_there_in_pynvml() -> None:
    assert [name for name in READING_CALLS if not callable(getattr(pynvml, name, None))] == []


@pytest.mark.parametrize(
    "name", ["nvmlDeviceSetPowerManagementLimit", "nvmlDeviceResetGpuLockedClocks", "nvmlDeviceClearEccErrorCounts"]
)
def test_a_call_that_changes_a_device_can_not_even_be_named(name: str) -> None:
    with pytest.raises(AttributeError, match="only read"):
        getattr(Nvml(pynvml), name)


def test_errors_have_the_words_of_nvml() -> None:
    nvml = Nvml(FakePynvml())

    assert nvml.reason(3) == "not_supported"
    assert nvml.reason(15) == "gpu_is_lost"
    assert nvml.reason(4711) == "nvml_error_4711"
    assert "different versions" in nvml.sentence(18)
    assert "libnvidia-ml.so.1 was not found" in nvml.sentence(12)


def test_a_function_that_an_older_pynvml_lacks_counts_as_not_found() -> None:
    module = FakePynvml()
    del module.__dict__["nvmlGpmSampleAlloc"]

    with pytest.raises(pynvml.NVMLError) as caught:
        Nvml(module).nvmlGpmSampleAlloc()

    assert code_of(caught.value) == 13
    assert code_of(pynvml.NVMLLibraryMismatchError("too old")) == 13


def test_a_library_that_is_unloaded_is_loaded_anew() -> None:
    module = FakePynvml()
    vars(module).update(nvmlLib=ctypes.CDLL("libm.so.6"), _nvmlGetFunctionPointer_cache={"nvmlInit": object()})

    Nvml(module).unload()

    assert module.nvmlLib is None
    assert module._nvmlGetFunctionPointer_cache == {}
