"""Whether this machine can have GPU metrics, and which package answers to the name `pynvml`."""

import ctypes
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pulsetrain.agents.collectors.base import Support
from pulsetrain.agents.collectors.nvml.library import close_library

LIBRARY = "libnvidia-ml.so.1"
_DISTRIBUTION = "nvidia-ml-py"
_OTHERS = ("pynvml", "nvidia-ml-py3")
"""Distributions that install a module of the same name: deprecated, and behind the drivers by years."""


def find_support(
    pynvml_is_installed: Callable[[], bool] = lambda: importlib.util.find_spec("pynvml") is not None,
    library_loads: Callable[[], bool] = lambda: _loads(LIBRARY),
    device: Path = Path("/dev/nvidiactl"),
    describe: Callable[[], str] = lambda: pynvml_distribution(),
) -> Support:
    """Supported where pynvml is installed and there is NVIDIA's library or, as before it is installed, its device."""
    if not pynvml_is_installed():
        return Support(False, "pynvml is not installed; install pulsetrain[agent]")
    if not library_loads() and not device.exists():
        return Support(False, f"no NVIDIA driver: neither {LIBRARY} nor {device} is there")
    return Support(True, describe())


def pynvml_distribution(files: Mapping[str, Iterable[str]] | None = None) -> str:
    """Which installed distribution the module `pynvml` comes from, as a sentence.

    Args:
        files: the files of each distribution, `<name> <version>`; of the installed ones by default.
    """
    for distribution, names in (_installed_files() if files is None else files).items():
        if any(name in {"pynvml.py", "pynvml/__init__.py"} for name in names):
            if distribution.split()[0] == _DISTRIBUTION:
                return f"pynvml comes from {distribution}"
            return f"pynvml comes from the deprecated {distribution}: uninstall it and install {_DISTRIBUTION}"
    return f"pynvml comes from no known distribution; it should come from {_DISTRIBUTION}"


def _installed_files() -> dict[str, list[str]]:
    from importlib import metadata

    found = {}
    # A deprecated one comes first: where both are installed, whose file is there is a matter of order.
    for name in (*_OTHERS, _DISTRIBUTION):
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found[f"{name} {distribution.version}"] = [str(file) for file in distribution.files or ()]
    return found


def _loads(library: str) -> bool:
    try:
        close_library(ctypes.CDLL(library))
    except OSError:
        return False
    return True
