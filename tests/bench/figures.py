"""What a bench measures, declared once: the table, the JSON files and the documentation follow from it."""

from dataclasses import dataclass


class BenchError(Exception):
    """A bench could not measure what it declares; the message says what was wrong and where to look."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number: its name (the key in the JSON file), unit, and what it is.

    `needs`: what this machine lacks where a bench may leave the figure out, such as `Debian's collectd`.
    """

    name: str
    unit: str
    description: str
    needs: str = ""
