"""An embedded broker of its own for each functional test."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from pulsetrain.cli.brokers.embedded import EmbeddedBroker


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """The broker, gone with all its data after the test."""
    with EmbeddedBroker() as embedded:
        yield embedded


@pytest.fixture
def unique() -> str:
    """A prefix for topics and groups that no other test uses."""
    return f"test-{uuid4().hex[:12]}."
