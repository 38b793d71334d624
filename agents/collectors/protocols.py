"""TCP, UDP and IP counters, from /proc/net/snmp and /proc/net/netstat (RFC 4022, RFC 4113, RFC 4293; proc_net(5))."""

from collections.abc import Sequence
from functools import lru_cache

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.fields import Field, FieldReader
from pulsetrain.agents.collectors.file_collector import FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id


def protocol_collectors(roots: Roots) -> list[FileCollector]:
    """The collectors of both files."""
    return [
        FileCollector("protocols", KernelFile(roots.net / "snmp"), FieldReader(split_protocols, _snmp_fields())),
        FileCollector("tcp", KernelFile(roots.net / "netstat"), FieldReader(split_protocols, _netstat_fields())),
    ]


def split_protocols(content: bytes) -> tuple[Sequence[bytes], list[bytes]]:
    """Pairs of lines `Tcp: InSegs OutSegs` and `Tcp: 24992 17364`, as `Tcp:InSegs` ..."""
    lines = content.splitlines()
    return _qualified(b" ".join(lines[::2])), b" ".join(lines[1::2]).split()


@lru_cache(maxsize=8)
def _qualified(header: bytes) -> tuple[bytes, ...]:
    """Each word behind the protocol before it; a protocol's own name, which stands among the numbers too, alone."""
    names, protocol = [], b""
    for word in header.split():
        if word.endswith(b":"):
            protocol = word
            names.append(word)
        else:
            names.append(protocol + word)
    return tuple(names)


def _snmp_fields() -> list[Field]:
    def both(name: str, received: bytes, sent: bytes) -> list[Field]:
        return [
            Field(metric_id(name, **{"network.io.direction": "receive"}), (received,)),
            Field(metric_id(name, **{"network.io.direction": "transmit"}), (sent,)),
        ]

    def events(name: str, attribute: str, keys: dict[str, bytes]) -> list[Field]:
        return [Field(metric_id(name, **{attribute: value}), (key,)) for value, key in keys.items()]

    return [
        *both("system.network.tcp.segments", b"Tcp:InSegs", b"Tcp:OutSegs"),
        Field("system.network.tcp.retransmits", (b"Tcp:RetransSegs",)),
        Field("system.network.tcp.errors", (b"Tcp:InErrs",)),
        *events(
            "system.network.tcp.connections",
            "network.connection.event",
            {
                "opened_active": b"Tcp:ActiveOpens",
                "opened_passive": b"Tcp:PassiveOpens",
                "failed": b"Tcp:AttemptFails",
                "reset": b"Tcp:EstabResets",
                "reset_sent": b"Tcp:OutRsts",
            },
        ),
        *events("system.network.connection.count", "network.transport", {"tcp": b"Tcp:CurrEstab"}),
        *both("system.network.udp.datagrams", b"Udp:InDatagrams", b"Udp:OutDatagrams"),
        *events(
            "system.network.udp.errors",
            "error.type",
            {
                "receive": b"Udp:InErrors",
                "no_port": b"Udp:NoPorts",
                "receive_buffer": b"Udp:RcvbufErrors",
                "send_buffer": b"Udp:SndbufErrors",
            },
        ),
        *both("system.network.ip.packets", b"Ip:InReceives", b"Ip:OutRequests"),
        *both("system.network.ip.discards", b"Ip:InDiscards", b"Ip:OutDiscards"),
    ]


def _netstat_fields() -> list[Field]:
    def events(name: str, attribute: str, keys: dict[str, bytes]) -> list[Field]:
        return [Field(metric_id(name, **{attribute: value}), (b"TcpExt:" + key,)) for value, key in keys.items()]

    return [
        *events(
            "system.network.tcp.retransmits",
            "network.tcp.reason",
            {
                "fast": b"TCPFastRetrans",
                "slow_start": b"TCPSlowStartRetrans",
                "syn": b"TCPSynRetrans",
                "lost_again": b"TCPLostRetransmit",
                "failed": b"TCPRetransFail",
            },
        ),
        *events(
            "system.network.tcp.errors",
            "error.type",
            {
                "listen_overflow": b"ListenOverflows",
                "listen_drop": b"ListenDrops",
                "backlog_drop": b"TCPBacklogDrop",
                "receive_queue_drop": b"TCPRcvQDrop",
                "abort_on_timeout": b"TCPAbortOnTimeout",
                "abort_on_memory": b"TCPAbortOnMemory",
            },
        ),
        *events(
            "system.network.tcp.events",
            "network.tcp.event",
            {
                "timeout": b"TCPTimeouts",
                "spurious_timeout": b"TCPSpuriousRTOs",
                "loss_probe": b"TCPLossProbes",
                "sack_recovery": b"TCPSackRecovery",
                "out_of_order_queued": b"TCPOFOQueue",
                "receive_queue_collapsed": b"TCPRcvCollapsed",
                "zero_window_announced": b"TCPToZeroWindowAdv",
                "memory_pressure": b"TCPMemoryPressures",
            },
        ),
    ]
