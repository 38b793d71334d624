"""Whether GPUs can be asked, and which package answers to the name pynvml."""

from pathlib import Path

import pytest

from pulsetrain.agents.collectors.nvml.support import find_support, pynvml_distribution


def test_without_pynvml_the_reason_says_what_to_install() -> None:
    support = find_support(pynvml_is_installed=lambda: False)

    assert not support.supported
    assert "pulsetrain[agent]" in support.reason


def test_a_machine_without_driver_is_not_supported(tmp_path: Path) -> None:
    support = find_support(lambda: True, library_loads=lambda: False, device=tmp_path / "nvidiactl")

    assert not support.supported
    assert "no NVIDIA driver" in support.reason


def test_a_driver_whose_library_is_not_installed_yet_is_supported(tmp_path: Path) -> None:
    device = tmp_path / "nvidiactl"
    device.touch()

    assert find_support(lambda: True, library_loads=lambda: False, device=device).supported


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"nvidia-ml-py 13.615.71": ["pynvml.py", "example.py"]}, "pynvml comes from nvidia-ml-py 13.615.71"),
        ({"pynvml 11.5.3": ["pynvml/__init__.py"]}, "deprecated pynvml 11.5.3: uninstall it and install nvidia-ml-py"),
        (
            {"pynvml 12.0.0": ["pynvml_utils/__init__.py"], "nvidia-ml-py 12.570.86": ["pynvml.py"]},
            "pynvml comes from nvidia-ml-py 12.570.86",
        ),
        ({"nvidia-ml-py3 7.352.0": ["pynvml.py"]}, "deprecated nvidia-ml-py3"),
        ({}, "no known distribution"),
    ],
)
def test_the_distribution_behind_pynvml_is_said(files: dict[str, list[str]], said: str) -> None:
    assert said in pynvml_distribution(files)


def test_here_pynvml_comes_from_nvidia_ml_py() -> None:
    assert pynvml_distribution().startswith("pynvml comes from nvidia-ml-py ")
