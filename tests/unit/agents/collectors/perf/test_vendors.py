"""Which events are chosen for which processor; encodings as in Linux's tools/perf/pmu-events/arch."""

from pathlib import Path

import pytest

from pulsetrain.agents.collectors.perf.events import EventSet
from pulsetrain.agents.collectors.perf.machine import Machine, read_machine
from pulsetrain.agents.collectors.perf.vendors import choose_events, zen_generation

NOTHING: frozenset[str] = frozenset()
IMC = frozenset({"cas_count_read", "cas_count_read.scale", "cas_count_write", "cas_count_write.scale", "clockticks"})


def arguments(events: EventSet) -> dict[str, str]:
    return {event.name: event.argument for event in events.events}


def test_every_processor_has_the_generic_events() -> None:
    assert list(arguments(choose_events(Machine()))) == [
        "cycles",
        "instructions",
        "branches",
        "branch-misses",
        "stalled-cycles-frontend",
        "stalled-cycles-backend",
        "cpu-migrations",
    ]


@pytest.mark.parametrize(
    ("model", "name", "encoding"),
    [
        (0x55, "cycle_activity.stalls_l3_miss", "event=0xa3,umask=0x6,cmask=0x6"),  # x86/skylakex/memory.json
        (0x6A, "cycle_activity.stalls_l3_miss", "event=0xa3,umask=0x6,cmask=0x6"),  # x86/icelakex/memory.json
        (0x8F, "memory_activity.stalls_l3_miss", "event=0x47,umask=0x9,cmask=0x9"),  # x86/sapphirerapids/memory.json
    ],
)
def test_intel_servers_count_stalls_on_l3_misses(model: int, name: str, encoding: str) -> None:
    chosen = choose_events(Machine("GenuineIntel", 6, model, {"cpu": NOTHING, "uncore_imc_0": IMC}))
    found = arguments(chosen)
    assert found[name] == f"cpu/{encoding},name={name}/"
    assert found["mem_inst_retired.all_loads"] == "cpu/event=0xd0,umask=0x81,name=mem_inst_retired.all_loads/"
    assert found["mem_inst_retired.all_stores"] == "cpu/event=0xd0,umask=0x82,name=mem_inst_retired.all_stores/"
    assert found["cas_count_read"] == "uncore_imc/cas_count_read/"
    assert "system.cpu.stall.share{cpu.stall=l3_miss}" in chosen.metrics()
    assert "system.cpu.cache.miss.ratio{cpu.cache.level=l3}" in chosen.metrics()


def test_on_hybrid_intel_processors_the_core_unit_is_asked() -> None:
    found = arguments(choose_events(Machine("GenuineIntel", 6, 0x97, {"cpu_core": NOTHING, "cpu_atom": NOTHING})))
    name = "memory_activity.stalls_l3_miss"
    assert found[name] == f"cpu_core/event=0x47,umask=0x9,cmask=0x9,name={name}/"


def test_an_unknown_intel_model_has_generic_events_only() -> None:
    chosen = choose_events(Machine("GenuineIntel", 6, 0x0F, {"cpu": NOTHING}))
    assert not any("/" in event.argument for event in chosen.events)


@pytest.mark.parametrize(
    ("family", "model", "generation"),
    [
        (0x17, 0x01, 1),  # EPYC 7001
        (0x18, 0x00, 1),  # Hygon Dhyana
        (0x17, 0x31, 2),  # EPYC 7002
        (0x19, 0x01, 3),  # EPYC 7003
        (0x19, 0x11, 4),  # EPYC 9004
        (0x19, 0xA0, 4),  # EPYC 97x4
        (0x1A, 0x02, 5),  # EPYC 9005
    ],
)
def test_generations_of_zen(family: int, model: int, generation: int) -> None:
    assert zen_generation(family, model) == generation


def test_zen_2_counts_data_cache_accesses_and_the_data_fabric() -> None:
    pmus = {"cpu": NOTHING, "amd_l3": NOTHING, "amd_df": NOTHING}
    chosen = choose_events(Machine("AuthenticAMD", 0x17, 0x31, pmus))
    found = arguments(chosen)
    assert found["ls_dc_accesses"] == "cpu/event=0x40,name=ls_dc_accesses/"
    miss = "l3_comb_clstr_state.request_miss"
    assert found[miss] == f"amd_l3/event=0x6,umask=0x1,name={miss}/"
    for channel, code in ((0, "0x7"), (7, "0x1c7")):
        name = f"dram_channel_data_controller_{channel}"
        assert found[name] == f"amd_df/event={code},umask=0x38,name={name}/"
    assert "system.cpu.cache.miss.ratio{cpu.cache.level=l2}" in chosen.metrics()
    assert "system.cpu.cache.miss.ratio{cpu.cache.level=l3}" in chosen.metrics()
    assert "system.memory.io.rate" in chosen.metrics()


def test_zen_4_counts_loads_that_hold_up_retirement_and_its_memory_controllers() -> None:
    pmus = {"cpu": NOTHING, "amd_l3": NOTHING, "amd_df": NOTHING, "amd_umc_0": NOTHING, "amd_umc_11": NOTHING}
    chosen = choose_events(Machine("AuthenticAMD", 0x19, 0x11, pmus))
    found = arguments(chosen)
    stall = "ex_no_retire.load_not_complete"
    assert found[stall] == f"cpu/event=0xd6,umask=0xa2,name={stall}/"
    assert found["ls_dispatch.ld_dispatch"] == "cpu/event=0x29,umask=0x1,name=ls_dispatch.ld_dispatch/"
    assert found["l3_lookup_state.l3_miss"] == "amd_l3/event=0x4,umask=0x1,name=l3_lookup_state.l3_miss/"
    assert found["umc_cas_cmd.wr"] == "amd_umc/event=0xa,rdwrmask=0x2,name=umc_cas_cmd.wr/"
    assert "ls_dc_accesses" not in found
    assert "system.cpu.stall.share{cpu.stall=load}" in chosen.metrics()


def test_zen_without_units_in_the_kernel_has_generic_events_only() -> None:
    chosen = choose_events(Machine("AuthenticAMD", 0x19, 0x11, {"software": NOTHING}))
    assert not any("/" in event.argument for event in chosen.events)


def test_arm_is_asked_for_those_architectural_events_that_the_kernel_lists() -> None:
    listed = frozenset(
        {"cpu_cycles", "stall_backend_mem", "ll_cache_rd", "ll_cache_miss_rd", "l3d_cache", "mem_access"}
    )
    chosen = choose_events(Machine(pmus={"armv8_pmuv3_0": listed}))
    found = arguments(chosen)
    assert found["stall_backend_mem"] == "armv8_pmuv3_0/stall_backend_mem/"
    assert found["ll_cache_miss_rd"] == "armv8_pmuv3_0/ll_cache_miss_rd/"
    assert "l3d_cache" not in found
    assert "system.cpu.cache.miss.ratio{cpu.cache.level=l1d}" in chosen.metrics()
    assert "system.cpu.stall.share{cpu.stall=memory}" in chosen.metrics()


def test_arm_with_two_kinds_of_cores_has_generic_events_only() -> None:
    listed = frozenset({"cpu_cycles", "mem_access"})
    chosen = choose_events(Machine(pmus={"armv8_cortex_a53": listed, "armv8_cortex_a72": listed}))
    assert not any("/" in event.argument for event in chosen.events)


def test_the_machine_is_read_from_the_kernels_files(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\n\n"
        "processor\t: 1\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
    )
    events = tmp_path / "bus/event_source/devices/uncore_imc_0/events"
    events.mkdir(parents=True)
    (events / "cas_count_read").write_text("event=0x05,umask=0xcf\n")
    (events.parent.parent / "uncore_imc_free_running_0/events").mkdir(parents=True)
    machine = read_machine(tmp_path, tmp_path)
    assert (machine.vendor, machine.family, machine.model) == ("GenuineIntel", 6, 143)
    assert machine.pmus == {"uncore_imc_free_running_0": NOTHING, "uncore_imc_0": frozenset({"cas_count_read"})}
    assert machine.has_pmu("uncore_imc")
    assert machine.has_pmu("uncore_imc_free_running")
    assert not machine.has_pmu("uncore")
    assert machine.events_of("uncore_imc") == {"cas_count_read"}


def test_a_machine_without_these_files_is_an_unknown_one(tmp_path: Path) -> None:
    assert read_machine(tmp_path, tmp_path) == Machine()
