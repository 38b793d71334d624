"""One Apache Kafka node for all integration tests; a node that can't start fails them, it never skips them."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka


@pytest.fixture(scope="session")
def kafka() -> Iterator[ApacheKafka]:
    """The node; a test that stops it starts it again."""
    with ApacheKafka() as node:
        yield node


@pytest.fixture
def unique() -> str:
    """A prefix for topics and groups that no other test uses."""
    return f"test-{uuid4().hex[:12]}."
