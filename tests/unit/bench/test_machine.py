"""The machine's description, read from what the kernel writes."""

import platform

import pytest

from tests.bench.machine import Machine, cpu_model, memory_gib

_CPUINFO = """processor\t: 0
vendor_id\t: AuthenticAMD
model\t\t: 17
model name\t: AMD EPYC 9654 96-Core Processor
cpu MHz\t\t: 2596.124

processor\t: 1
model name\t: another
"""
_ARM_CPUINFO = "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\n"


def test_the_cpu_is_the_first_model_name() -> None:
    assert cpu_model(_CPUINFO) == "AMD EPYC 9654 96-Core Processor"


def test_a_cpu_without_a_model_name_is_called_by_its_architecture() -> None:
    assert cpu_model(_ARM_CPUINFO) == platform.machine()


def test_memory_is_counted_in_gibibytes() -> None:
    assert memory_gib("MemTotal:       16777216 kB\nMemFree:         1048576 kB\n") == 16.0


def test_a_meminfo_without_a_total_is_refused() -> None:
    with pytest.raises(ValueError, match="MemTotal"):
        memory_gib("MemFree: 1 kB\n")


def test_the_sentence_names_everything_that_a_figure_depends_on() -> None:
    machine = Machine("AMD EPYC", 2, 23.54, "Linux 6.18", "3.11.7", "2.4.6", 0.257)
    assert machine.sentence() == (
        "AMD EPYC, 2 cores, 23.5 GiB memory, Linux 6.18, Python 3.11.7, numpy 2.4.6; load average at the start 0.26"
    )
