"""Published records against those that an undisturbed run would have given, by id and by every byte."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

SHOWN = 5

Id = TypeVar("Id", bound=Hashable)


@dataclass
class Comparison(Generic[Id]):
    """`copies` are records that say again, byte for byte, what one before them said; they are no fault.

    `different` has, for each id with other content than expected, that and the first other content that was found.
    """

    expected: int
    published: int = 0
    copies: int = 0
    lost: list[Id] = field(default_factory=list)
    unexpected: list[Id] = field(default_factory=list)
    different: dict[Id, tuple[bytes, bytes]] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """Nothing is lost, nothing came that should not, nothing is different."""
        return not (self.lost or self.unexpected or self.different)


def compare(expected: Mapping[Id, bytes], published: Iterable[tuple[Id, bytes]]) -> Comparison[Id]:
    """Compares each published record with what is expected under its id."""
    result: Comparison[Id] = Comparison(len(expected))
    seen: set[Id] = set()
    for identity, content in published:
        result.published += 1
        if identity not in expected:
            if identity not in seen:
                result.unexpected.append(identity)
        elif content != expected[identity]:
            result.different.setdefault(identity, (expected[identity], content))
        elif identity in seen:
            result.copies += 1
        seen.add(identity)
    result.lost = [identity for identity in expected if identity not in seen]
    return result
