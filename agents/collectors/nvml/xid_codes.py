"""What Xid codes mean, in short (NVIDIA's Xid catalogue, https://docs.nvidia.com/deploy/xid-errors/)."""

from pulsetrain.schemas.status import Severity

_MEANINGS = {
    13: "graphics engine exception",
    31: "memory page fault",
    32: "corrupted push buffer",
    38: "firmware error",
    43: "a job's channel stopped",
    45: "work was cleaned up after earlier errors or a killed job",
    48: "double-bit ECC error",
    61: "internal controller breakpoint",
    62: "internal controller halt",
    63: "a row or page is to be taken out of use",
    64: "a row or page could not be taken out of use",
    68: "video processor exception",
    69: "graphics engine class error",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    92: "high rate of single-bit ECC errors",
    94: "contained ECC error",
    95: "uncontained ECC error",
    109: "context switch timed out",
    119: "the GPU's system processor did not answer",
    120: "error of the GPU's system processor",
    121: "corrected error of the link to the CPU",
    140: "unrecovered ECC error",
}
_OFTEN_OF_THE_JOB = frozenset({13, 31, 32, 43, 45, 63, 68, 69, 92, 94, 121})
"""Mostly a program's own fault, or taken care of: worth a look, no reason to drain."""


def meaning(code: int) -> str:
    """In a few words; empty for a code that is not in the table."""
    return _MEANINGS.get(code, "")


def severity(code: int) -> Severity:
    """How urgent a code is by itself; an unknown one is taken seriously."""
    return Severity.WARNING if code in _OFTEN_OF_THE_JOB else Severity.ERROR
