"""TCP, UDP and IP counters, from /proc/net/snmp and /proc/net/netstat (RFC 4022, RFC 4113, RFC 4293; proc_net(5))."""

from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.collectors.file_collector import Field, FieldReader, FileCollector
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.schemas.catalogue import metric_id

_WANTED = frozenset((b"Tcp:", b"Udp:", b"Ip:", b"TcpExt:"))


def protocol_collectors(roots: Roots) -> list[FileCollector]:
    """The collectors of both files."""
    net = roots.proc / "net"
    return [
        FileCollector("protocols", KernelFile(net / "snmp"), FieldReader(parse_protocols, _snmp_fields())),
        FileCollector("tcp", KernelFile(net / "netstat"), FieldReader(parse_protocols, _netstat_fields())),
    ]


def parse_protocols(content: bytes) -> dict[bytes, bytes | float]:
    """Pairs of lines `Tcp: InSegs OutSegs` and `Tcp: 24992 17364`, as `Tcp:InSegs` ...

    Raises:
        ValueError: a protocol has more names than numbers or the other way round.
    """
    numbers: dict[bytes, bytes | float] = {}
    lines = content.split(b"\n")
    for names, counts in zip(lines[::2], lines[1::2], strict=False):
        protocol, *keys = names.split()
        if protocol in _WANTED:
            numbers.update(zip([protocol + key for key in keys], counts.split()[1:], strict=True))
    return numbers


def _snmp_fields() -> list[Field]:
    def both(name: str, received: bytes, sent: bytes) -> list[Field]:
        return [
            Field(metric_id(name, **{"network.io.direction": "receive"}), received),
            Field(metric_id(name, **{"network.io.direction": "transmit"}), sent),
        ]

    def events(name: str, attribute: str, keys: dict[str, bytes]) -> list[Field]:
        return [Field(metric_id(name, **{attribute: value}), key) for value, key in keys.items()]

    return [
        *both("system.network.tcp.segments", b"Tcp:InSegs", b"Tcp:OutSegs"),
        Field("system.network.tcp.retransmits", b"Tcp:RetransSegs"),
        Field("system.network.tcp.errors", b"Tcp:InErrs"),
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
        return [Field(metric_id(name, **{attribute: value}), b"TcpExt:" + key) for value, key in keys.items()]

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
