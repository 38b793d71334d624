"""Counts become rates and ratios. Every expected number is worked out by hand beside its rows."""

import math

import pytest

from pulsetrain.agents.collectors.perf.events import EventSet, generic_events
from pulsetrain.agents.collectors.perf.intervals import IntervalAssembler
from pulsetrain.agents.collectors.perf.machine import Machine
from pulsetrain.agents.collectors.perf.values import Values, interval_values
from pulsetrain.agents.collectors.perf.vendors import choose_events
from pulsetrain.schemas.catalogue import find

NOTHING: frozenset[str] = frozenset()
IMC = frozenset({"cas_count_read", "cas_count_read.scale", "cas_count_write", "cas_count_write.scale"})
INTEL = choose_events(Machine("GenuineIntel", 6, 0x8F, {"cpu": NOTHING, "uncore_imc_0": IMC}))
HYBRID = choose_events(Machine("GenuineIntel", 6, 0x97, {"cpu_core": NOTHING, "cpu_atom": NOTHING}))
ZEN_2 = choose_events(Machine("AuthenticAMD", 0x17, 0x31, {"cpu": NOTHING, "amd_l3": NOTHING, "amd_df": NOTHING}))
ARM = choose_events(Machine(pmus={"armv8_pmuv3_0": frozenset({"cpu_cycles", "stall_backend_mem", "mem_access"})}))


def values(rows: str, events: EventSet) -> Values:
    """Of one interval of half a second."""
    assembler = IntervalAssembler()
    lines = [f"     0.500000000;{line}".encode() for line in rows.split()]
    (interval,) = assembler.intervals([*lines, lines[0].replace(b"0.5", b"1.0", 1)])
    assert assembler.errors == 0
    return interval_values(interval, events)


def test_intel_rows() -> None:
    found = values(
        """
        4000;;cycles;1;100.00;;
        2000;;instructions;1;100.00;;
        1000;;cache-references;1;100.00;;
        250;;cache-misses;1;100.00;;
        1000;;memory_activity.stalls_l3_miss;1;100.00;;
        500;;mem_inst_retired.all_loads;1;100.00;;
        250.00;MiB;uncore_imc/cas_count_read/;8009419950;100.00;;
        0.00;MiB;uncore_imc/cas_count_write/;8009419950;100.00;;
        """,
        INTEL,
    ).values
    assert found["system.cpu.cycle.rate"] == 8000.0
    assert found["system.cpu.instructions_per_cycle"] == 0.5
    assert found["system.cpu.cache.miss.ratio{cpu.cache.level=l3}"] == 0.25
    assert found["system.cpu.stall.share{cpu.stall=l3_miss}"] == 0.25
    assert found["system.cpu.memory_access.rate{cpu.memory_access.type=load}"] == 1000.0
    assert found["system.memory.io.rate{memory.io.direction=read}"] == 500.0 * 1048576.0
    assert found["system.memory.io.rate{memory.io.direction=write}"] == 0.0


def test_controllers_that_perf_prints_one_by_one_are_added_up() -> None:
    found = values(
        "3.00;MiB;uncore_imc_0/cas_count_read/;1;100.00;; 5.00;MiB;uncore_imc_11/cas_count_read/;1;100.00;;", INTEL
    )
    assert found.values["system.memory.io.rate{memory.io.direction=read}"] == 16.0 * 1048576.0


def test_memory_traffic_in_another_unit_than_the_kernels_is_missing() -> None:
    found = values("238;;uncore_imc/cas_count_read/;8009419950;100.00;; 1;MiB;cas_count_write;1;100.00;;", INTEL)
    identifier = "system.memory.io.rate{memory.io.direction=read}"
    assert found.missing[identifier] == "perf gave a plain count instead of MiB"


def test_zen_2_rows() -> None:
    channels = "\n".join(f"{1000 + n};;dram_channel_data_controller_{n};1;50.00;;" for n in range(8))
    found = values(
        f"""
        2000;;cycles;1;100.00;;
        600;;ls_dc_accesses;1;83.00;;
        400;;l3_request_g1.caching_l3_cache_accesses;1;100.00;;
        100;;l3_comb_clstr_state.request_miss;1;100.00;;
        {channels}
        """,
        ZEN_2,
    ).values
    assert found["system.cpu.memory_access.rate"] == 1200.0
    assert found["system.cpu.cache.miss.rate{cpu.cache.level=l3}"] == 200.0
    assert found["system.cpu.cache.miss.ratio{cpu.cache.level=l3}"] == 0.25
    assert found["system.memory.io.rate"] == (8 * 1000 + 28) * 64 / 0.5


def test_arm_rows() -> None:
    found = values(
        """
        4000;;cycles;1;100.00;;
        8000;;instructions;1;100.00;;
        1000;;stalled-cycles-backend;1;100.00;;
        600;;armv8_pmuv3_0/stall_backend_mem/;1;100.00;;
        300;;armv8_pmuv3_0/mem_access/;1;100.00;;
        """,
        ARM,
    ).values
    assert found["system.cpu.instructions_per_cycle"] == 2.0
    assert found["system.cpu.stall.share{cpu.stall=backend}"] == 0.25
    assert found["system.cpu.stall.share{cpu.stall=memory}"] == 0.15
    assert found["system.cpu.memory_access.rate"] == 600.0


def test_hybrid_cores_are_summed_and_kept_apart_and_a_share_is_of_the_cores_that_count_it() -> None:
    found = values(
        """
        3000;;cpu_core/cycles/;1;100.00;;
        1000;;cpu_atom/cycles/;1;54.00;;
        6000;;cpu_core/instructions/;1;100.00;;
        1000;;cpu_atom/instructions/;1;54.00;;
        600;;memory_activity.stalls_l3_miss;1;100.00;;
        """,
        HYBRID,
    ).values
    assert found["system.cpu.cycle.rate"] == 8000.0
    assert found["system.cpu.cycle.rate{cpu.pmu=cpu_core}"] == 6000.0
    assert found["system.cpu.cycle.rate{cpu.pmu=cpu_atom}"] == 2000.0
    assert found["system.cpu.instructions_per_cycle"] == 7000 / 4000
    assert found["system.cpu.stall.share{cpu.stall=l3_miss}"] == 0.2


def test_where_one_kind_of_cores_was_not_counted_the_sum_is_missing_and_the_other_kind_is_not() -> None:
    assembler = IntervalAssembler()
    lines = [b"0.5;3000;;cpu_core/cycles/;1;100.00;;", b"0.5;<not counted>;;cpu_atom/cycles/;0;0.00;;"]
    (interval,) = assembler.intervals([*lines, b"1.0;3000;;cpu_core/cycles/;1;100.00;;"])
    found = interval_values(interval, HYBRID)
    assert math.isnan(found.values["system.cpu.cycle.rate"])
    assert found.missing["system.cpu.cycle.rate"] == "not counted"
    assert found.values["system.cpu.cycle.rate{cpu.pmu=cpu_core}"] == 6000.0


def test_what_was_not_counted_makes_the_ratio_missing_and_never_zero() -> None:
    lines = [
        b"0.5;<not supported>;;cycles;0;100.00;;",
        b"0.5;<not counted>;;instructions;0;0.00;;",
        b"1.0;1;;x;1;100.00;;",
    ]
    (interval,) = IntervalAssembler().intervals(lines)
    found = interval_values(interval, generic_events(None))
    assert math.isnan(found.values["system.cpu.instructions_per_cycle"])
    assert found.missing["system.cpu.instructions_per_cycle"] == "instructions: not counted"
    assert found.missing["system.cpu.cycle.rate"] == "not supported"
    assert found.missing["system.cpu.branch.rate"] == "perf printed no row"


def test_no_branches_at_all_have_no_share_of_misses() -> None:
    found = values("0;;branches;1;100.00;; 0;;branch-misses;1;100.00;;", generic_events(None))
    assert found.values["system.cpu.branch.rate"] == 0.0
    assert found.missing["system.cpu.branch_miss.ratio"] == "no branches in this interval"


@pytest.mark.parametrize("events", [INTEL, HYBRID, ZEN_2, ARM, generic_events(None)])
def test_every_metric_is_in_the_catalogue(events: EventSet) -> None:
    assert all(find(identifier) is not None for identifier in events.metrics())
