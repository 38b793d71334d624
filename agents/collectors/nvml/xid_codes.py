"""What Xid codes mean, in short.

From NVIDIA's Xid catalogue (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html), 173 and 175 from
`nverror.h` of its open kernel modules, release 595.45.04, which has names only. Codes without a meaning there, or that
concern no GPU of a data centre, are left out.
"""

from pulsetrain.schemas.status import Severity

_MEANINGS = {
    13: "graphics engine exception",
    31: "memory page fault",
    32: "corrupted push buffer",
    38: "firmware error",
    43: "a job's channel stopped",
    44: "graphics engine fault during a context switch",
    45: "work was cleaned up after earlier errors or a killed job",
    46: "the GPU stopped processing",
    48: "double-bit ECC error",
    54: "auxiliary power is not connected",
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
    110: "security fault",
    119: "the GPU's system processor did not answer",
    120: "error of the GPU's system processor",
    121: "corrected error of the link to the CPU",
    136: "training of a link failed",
    137: "a remote GPU refused an access over NVLink",
    139: "error of the second optical flow accelerator",
    140: "unrecovered ECC error",
    141: "error of CUDA's fast path",
    142: "error of the fourth video encoder",
    143: "the GPU could not be initialised",
    144: "NVLink error (SAW)",
    145: "NVLink error (RLW)",
    146: "NVLink error (TLW)",
    147: "NVLink error (TREX)",
    148: "NVLink error (NVLPW_CTRL)",
    149: "NVLink error (NETIR)",
    150: "NVLink error (MSE)",
    151: "key rotation error",
    154: "what has to be done to recover has changed",
    155: "an NVLink went down on purpose",
    156: "a resource was taken out of use",
    157: "a resource could not be taken out of use",
    158: "fatal timeout of the GPU",
    159: "error on the link to the CPU that is none of data",
    160: "a channel was taken out of use",
    161: "a channel could not be taken out of use",
    162: "power smoothing works again",
    163: "power smoothing is switched off",
    164: "the circuit that smooths power is near its end of life",
    165: "the circuit that smooths power is at its end of life",
    166: "unencrypted NVLink traffic in confidential computing mode",
    167: "fatal PCIe timeout",
    168: "errors in write-protected GPU memory",
    169: "internal controller halt (SEC2)",
    170: "interrupt of a secure NVLink in confidential computing mode",
    171: "uncorrected error in DRAM, beside 48",
    172: "uncorrected error in SRAM, beside 48",
    173: "fatal failure of the link to the CPU",
    175: "error of the memory subsystem",
}
_NO_REASON_TO_DRAIN = frozenset(
    (13, 31, 32, 43, 44, 45, 63, 68, 69, 92, 94, 121, 137, 139, 141, 154, 157, 160, 161, 162, 163, 164, 165)
)
"""Mostly a program's own fault, or taken care of, or told beside another code: worth a look. The catalogue says to
ignore them at first or to start the program again; of power smoothing, that no reset is needed."""


def meaning(code: int) -> str:
    """In a few words; empty for a code that is not in the table."""
    return _MEANINGS.get(code, "")


def severity(code: int) -> Severity:
    """How urgent a code is by itself; an unknown one is taken seriously."""
    return Severity.WARNING if code in _NO_REASON_TO_DRAIN else Severity.ERROR
