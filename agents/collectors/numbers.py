"""Many numbers from text at once."""

from collections.abc import Callable, Sequence
from operator import itemgetter

import msgspec

Pick = Callable[[Sequence[bytes]], Sequence[bytes]]

# As a JSON array they are read several times faster than one by one with float().
_ARRAY = msgspec.json.Decoder(list[float])


def to_floats(words: Sequence[bytes]) -> list[float]:
    """The numbers that `words` spell, as many as there are words.

    Raises:
        ValueError: one of them spells no finite decimal number.
    """
    try:
        numbers = _ARRAY.decode(b"[" + b",".join(words) + b"]")
    except msgspec.DecodeError as error:
        raise ValueError(f"no numbers in {b' '.join(words)[:200]!r}") from error
    if len(numbers) != len(words):
        raise ValueError(f"more than one number in a word of {b' '.join(words)[:200]!r}")
    return numbers


def picker(positions: Sequence[int]) -> Pick:
    """Picks the words at these positions; what it returns raises IndexError where there are fewer words."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda words: [words[position] for position in positions]
