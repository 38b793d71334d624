"""An agent without root reads what it may, and says what it may not."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

SCRIPT = """
import json, os, sys
from contextlib import closing
from pulsetrain.agents.look import look
from pulsetrain.agents.settings import AgentSettings
from pulsetrain.agents.sources import configured_sources

settings = AgentSettings(proc_root=sys.argv[1])
configured_sources(settings).close()  # loads all modules, which only root may be allowed to read
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with closing(configured_sources(settings)) as sources:
    values, failures = look(sources, sleep=lambda seconds: None)
    reasons = {source.collector: source.support.reason for source in sources.listed()}
    print(json.dumps({"reasons": reasons, "read": sorted({value.collector for value in values})}))
"""


@pytest.fixture
def proc() -> Iterator[Path]:
    """A /proc that everybody may look into, with one file that nobody may read."""
    with TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "pressure").mkdir()
        some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
        for resource in ("cpu", "memory"):
            (root / "pressure" / resource).write_text(some)
        (root / "pressure" / "memory").chmod(0o000)
        (root / "loadavg").write_text("0.50 0.40 0.30 1/100 1234\n")
        yield root


def test_what_may_be_read_is_read_and_what_may_not_is_said_with_the_reason(proc: Path) -> None:
    environment = {**os.environ, "XDG_RUNTIME_DIR": ""}
    command = [sys.executable, "-c", SCRIPT, str(proc)]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90, check=True).stdout
    seen = json.loads(output)
    assert {"pressure_cpu", "load"} <= set(seen["read"])
    assert "pressure_memory" not in seen["read"]
    assert seen["reasons"]["pressure_cpu"] == ""
    assert "Permission denied" in seen["reasons"]["pressure_memory"]
