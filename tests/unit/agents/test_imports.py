"""What the agent loads: it has to stay small on every node."""

import subprocess
import sys

HEAVY = (
    "aiokafka", "faust", "mode", "numba", "onnx", "onnxruntime", "pandas", "pulsetrain.cli", "pulsetrain.models",
    "pulsetrain.streams", "rich", "scipy", "sklearn", "statsmodels", "tsfresh", "typer",
)  # fmt: skip

# Whose settings are part of the one configuration.
WITH_CONFIGURATION = ("pulsetrain.cli", "pulsetrain.streams")


def loaded_by(script: str, *names: str) -> list[str]:
    """Which of the modules are loaded after a script."""
    code = f"import sys\n{script}\nprint(*[name for name in {names!r} if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    return output.split()


def test_the_agent_loads_none_of_the_heavy_libraries() -> None:
    assert loaded_by("import pulsetrain.agents.agent", *HEAVY, "pynvml", "prometheus_client") == []


def test_the_process_of_the_agent_loads_neither_them_nor_the_command_line() -> None:
    heavy = [name for name in HEAVY if name not in WITH_CONFIGURATION]
    others = ("asyncio.events", "ssl", "pulsetrain.cli.main", "pulsetrain.cli.commands", "pulsetrain.streams.worker")
    assert loaded_by("import pulsetrain.cli.node_agent", *heavy, *others) == []


def test_a_module_that_is_loaded_lazily_works_when_it_is_used_after_all() -> None:
    lazily = "from pulsetrain.cli.lazy_modules import load_lazily\nload_lazily('asyncio')\nimport asyncio"
    assert loaded_by(lazily, "asyncio.events") == []
    assert loaded_by(f"{lazily}\nasyncio.run(asyncio.sleep(0))", "asyncio.events") == ["asyncio.events"]
    assert loaded_by(f"{lazily}\nfrom asyncio import run", "asyncio.events") == ["asyncio.events"]
    assert loaded_by(f"{lazily}\nimport asyncio.events", "asyncio.events") == ["asyncio.events"]
    # A module that was loaded before stays what it was.
    assert loaded_by(f"import asyncio\n{lazily}\nassert asyncio.__file__", "asyncio.events") == ["asyncio.events"]
