"""A demo as all its parts see it."""

from dataclasses import dataclass

from pulsetrain.cli.demo.journal import Journal
from pulsetrain.cli.demo.observations import Observations
from pulsetrain.cli.demo.story import Story


@dataclass(slots=True)
class Demo:
    """A demo that runs or has run.

    `broker` says which one and where. `not_closed` says in one sentence why the loop did not close, None where it
    did. `seconds` is how long the demo took, once it is over.
    """

    broker: str
    journal: Journal
    seen: Observations
    story: Story
    not_closed: str | None = None
    seconds: float = 0.0
