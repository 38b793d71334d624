"""What the agent loads: it has to stay small on every node."""

import subprocess
import sys

HEAVY = (
    "aiokafka", "faust", "mode", "numba", "onnx", "onnxruntime", "pandas", "pulsetrain.cli", "pulsetrain.models",
    "pulsetrain.streams", "rich", "scipy", "sklearn", "statsmodels", "tsfresh", "typer",
)  # fmt: skip

SCRIPT = f"""
import sys
import pulsetrain.agents.agent
print([name for name in {HEAVY!r} if name in sys.modules])
"""


def test_the_agent_loads_none_of_the_heavy_libraries() -> None:
    loaded = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True)
    assert loaded.stdout.strip() == "[]"
