"""Programs of Debian that tests run beside ours; nobody needs them to use or to build the project."""

import os
import shutil

import pytest


def debian_program(name: str, package: str) -> str:
    """Where a program is; a test that needs it is skipped where it is absent, and fails in CI, which installs it."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if path is not None:
        return path
    reason = f"{name} is not installed (on Debian: apt-get install {package})"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
