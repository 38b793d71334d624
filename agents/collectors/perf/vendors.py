"""The events that only one vendor's processors have.

Encodings stand here, not names, so that they don't depend on which processors the installed perf knows by name; `name=`
gives each the vendor's name back. They are from tools/perf/pmu-events/arch of Linux, whose names they bear; units with
names of their own (`uncore_imc`, `armv8_pmuv3`) are asked by the names that the kernel lists under
/sys/bus/event_source/devices.
"""

from pulsetrain.agents.collectors.perf.events import (
    MEMORY_RATE,
    Event,
    EventSet,
    cache,
    generic_events,
    joined,
    stall,
)
from pulsetrain.agents.collectors.perf.machine import Machine

_ACCESS_RATE = "system.cpu.memory_access.rate"
_MEBIBYTE = 1024.0 * 1024.0
_CACHE_LINE_BYTES = 64.0

_CORE_WITH_CYCLE_ACTIVITY = frozenset(
    (0x4E, 0x5E, 0x55, 0x8E, 0x9E, 0xA5, 0xA6, 0x66, 0x7D, 0x7E, 0x6A, 0x6C, 0x8C, 0x8D, 0xA7)
)
"""Skylake to Tiger Lake, servers included: x86/skylakex, x86/icelakex and the like, memory.json."""

_CORE_WITH_MEMORY_ACTIVITY = frozenset((0x8F, 0xCF, 0x97, 0x9A, 0xB7, 0xBA, 0xBF))
"""Golden Cove: Sapphire and Emerald Rapids, Alder and Raptor Lake: x86/sapphirerapids, x86/alderlake, memory.json."""

_AMD = ("AuthenticAMD", "HygonGenuine")
_ZEN_FAMILIES = (0x17, 0x18, 0x19, 0x1A)


def choose_events(machine: Machine) -> EventSet:
    """What is counted on this machine, before perf has been asked what it can count."""
    if machine.vendor == "GenuineIntel":
        return joined(generic_events("l3"), _intel(machine))
    if machine.vendor in _AMD and machine.family in _ZEN_FAMILIES:
        return joined(generic_events("l2"), _zen(machine))
    if _arm_units(machine):
        return joined(generic_events("l1d"), _arm(machine))
    return generic_events(None)


def _intel(machine: Machine) -> EventSet:
    return joined(_intel_core(machine), _intel_memory(machine))


def _intel_core(machine: Machine) -> EventSet:
    unit = next((name for name in ("cpu", "cpu_core") if name in machine.pmus), None)
    model = machine.model if machine.family == 6 else None
    if unit is None or model not in _CORE_WITH_CYCLE_ACTIVITY | _CORE_WITH_MEMORY_ACTIVITY:
        return EventSet(())
    if model in _CORE_WITH_CYCLE_ACTIVITY:
        encoding, name = "event=0xa3,umask=0x6,cmask=0x6", "cycle_activity.stalls_l3_miss"
    else:
        encoding, name = "event=0x47,umask=0x9,cmask=0x9", "memory_activity.stalls_l3_miss"
    # Where there are two kinds of cores, only one of them has these events.
    pmu = "" if unit == "cpu" else unit
    accesses = [
        Event(
            f"{unit}/event=0xd0,umask={umask},name={access}/",
            access,
            metric=_ACCESS_RATE,
            attributes=(("cpu.memory_access.type", kind),),
            pmu=pmu,
        )
        for access, kind, umask in (
            ("mem_inst_retired.all_loads", "load", "0x81"),
            ("mem_inst_retired.all_stores", "store", "0x82"),
        )
    ]
    stalls = Event(f"{unit}/{encoding},name={name}/", name, pmu=pmu)
    return EventSet((stalls, *accesses), (stall("l3_miss", name),))


def _intel_memory(machine: Machine) -> EventSet:
    """Column accesses of the memory controllers, which the kernel scales to MiB (arch/x86/events/intel/uncore_snbep.c).

    Granite Rapids counts its two sub-channels apart.
    """
    listed = machine.events_of("uncore_imc")
    events = [
        Event(
            f"uncore_imc/{name}/",
            name,
            metric=MEMORY_RATE,
            attributes=(("memory.io.direction", direction),),
            factor=_MEBIBYTE,
            pmu="uncore_imc",
            unit="MiB",
        )
        for direction in ("read", "write")
        for name in (f"cas_count_{direction}", f"cas_count_{direction}_sch0", f"cas_count_{direction}_sch1")
        if name in listed and f"{name}.scale" in listed
    ]
    return EventSet(tuple(events))


def _zen(machine: Machine) -> EventSet:
    generation = zen_generation(machine.family, machine.model)
    parts = []
    if machine.has_pmu("cpu"):
        parts.append(_zen_core(generation))
    if machine.has_pmu("amd_l3"):
        parts.append(_zen_l3(generation))
    if machine.has_pmu("amd_umc"):
        parts.append(_zen_memory_controllers())
    elif machine.has_pmu("amd_df") and generation <= 3:
        parts.append(_zen_data_fabric())
    return joined(*parts)


def zen_generation(family: int, model: int) -> int:
    """1 to 5, as in x86/mapfile.csv; Zen+ counts as 1."""
    if family in (0x17, 0x18):
        return 1 if family == 0x18 or model < 0x30 else 2
    if family == 0x19:
        return 3 if model < 0x10 or 0x20 <= model < 0x30 or 0x40 <= model < 0x60 else 4
    return 5


def _zen_core(generation: int) -> EventSet:
    """x86/amdzen1, amdzen2: memory.json; from amdzen3 on `ls_dispatch`, from amdzen4 on `ex_no_retire` (core.json)."""
    if generation <= 2:
        return EventSet((Event("cpu/event=0x40,name=ls_dc_accesses/", "ls_dc_accesses", metric=_ACCESS_RATE),))
    accesses = [
        Event(
            f"cpu/event=0x29,umask={umask},name={name}/",
            name,
            metric=_ACCESS_RATE,
            attributes=(("cpu.memory_access.type", kind),),
        )
        for name, kind, umask in (
            ("ls_dispatch.ld_dispatch", "load", "0x1"),
            ("ls_dispatch.store_dispatch", "store", "0x2"),
        )
    ]
    if generation == 3:
        return EventSet(tuple(accesses))
    name = "ex_no_retire.load_not_complete"
    return EventSet((*accesses, Event(f"cpu/event=0xd6,umask=0xa2,name={name}/", name)), (stall("load", name),))


def _zen_l3(generation: int) -> EventSet:
    """cache.json of x86/amdzen1 to amdzen4, l3-cache.json of amdzen5. Without masks the kernel counts all slices."""
    if generation <= 2:
        reference = ("event=0x1,umask=0x80", "l3_request_g1.caching_l3_cache_accesses")
        miss = ("event=0x6,umask=0x1", "l3_comb_clstr_state.request_miss")
    else:
        reference = ("event=0x4,umask=0xff", "l3_lookup_state.all_coherent_accesses_to_l3")
        miss = ("event=0x4,umask=0x1", "l3_lookup_state.l3_miss")
    arguments = [(f"amd_l3/{encoding},name={name}/", name) for encoding, name in (reference, miss)]
    return cache("l3", arguments[0], arguments[1], pmu="amd_l3")


def _zen_memory_controllers() -> EventSet:
    """x86/amdzen4/memory-controller.json; 64 bytes a command as in `umc_mem_read_bandwidth` of recommended.json."""
    events = [
        Event(
            f"amd_umc/event=0xa,rdwrmask={mask},name={name}/",
            name,
            metric=MEMORY_RATE,
            attributes=(("memory.io.direction", direction),),
            factor=_CACHE_LINE_BYTES,
            pmu="amd_umc",
        )
        for name, direction, mask in (("umc_cas_cmd.rd", "read", "0x1"), ("umc_cas_cmd.wr", "write", "0x2"))
    ]
    return EventSet(tuple(events))


def _zen_data_fabric() -> EventSet:
    """`dram_channel_data_controller_0` to `_7` of data-fabric.json: requests with 64 bytes of data, both directions."""
    events = [
        Event(
            f"amd_df/event={0x07 + 0x40 * channel:#x},umask=0x38,name=dram_channel_data_controller_{channel}/",
            f"dram_channel_data_controller_{channel}",
            metric=MEMORY_RATE,
            factor=_CACHE_LINE_BYTES,
            pmu="amd_df",
        )
        for channel in range(8)
    ]
    return EventSet(tuple(events))


def _arm_units(machine: Machine) -> list[str]:
    return [name for name, events in machine.pmus.items() if name.startswith("armv") and "cpu_cycles" in events]


def _arm(machine: Machine) -> EventSet:
    """Architectural events of PMUv3 (drivers/perf/arm_pmuv3.c); the kernel lists those that the core has.

    With several kinds of cores none of them: a share would be of the cycles of all.
    """
    units = _arm_units(machine)
    if len(units) != 1:
        return EventSet(())
    unit, listed = units[0], machine.pmus[units[0]]

    def named(name: str) -> tuple[str, str]:
        return f"{unit}/{name}/", name

    parts = []
    for reference, miss in (("ll_cache_rd", "ll_cache_miss_rd"), ("l3d_cache", "l3d_cache_refill")):
        if {reference, miss} <= listed:
            parts.append(cache("l3", named(reference), named(miss)))
            break
    if "stall_backend_mem" in listed:
        parts.append(EventSet((Event(*named("stall_backend_mem")),), (stall("memory", "stall_backend_mem"),)))
    if "mem_access" in listed:
        parts.append(EventSet((Event(*named("mem_access"), metric=_ACCESS_RATE),)))
    return joined(*parts)
