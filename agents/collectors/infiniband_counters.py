"""What the counters of an InfiniBand or RoCE port are called here.

Those under `counters` are described in Documentation/ABI/stable/sysfs-class-infiniband of Linux; those under
`hw_counters` are NVIDIA's (mlx5), whose names other drivers share in part.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pulsetrain.schemas.catalogue import metric_id

_LANES = 4.0
"""Data is counted in units of four bytes."""

_TYPE = {"hw.type": "network"}


@dataclass(frozen=True, slots=True)
class PortCounter:
    """A file's number times `scale` is the metric's value."""

    name: str
    attributes: Mapping[str, str]
    scale: float = 1.0

    def metric(self, port: str | None) -> str:
        """The metric id of one port, or of all together."""
        return metric_id(self.name, **_TYPE, **self.attributes, **({} if port is None else {"hw.id": port}))


def _group(
    name: str, attribute: str, files: Mapping[str, str], folder: str, scale: float = 1.0
) -> dict[str, PortCounter]:
    return {f"{folder}/{file}": PortCounter(name, {attribute: value}, scale) for file, value in files.items()}


COUNTERS: Mapping[str, PortCounter] = {
    **_group(
        "hw.network.io",
        "network.io.direction",
        {"port_rcv_data": "receive", "port_xmit_data": "transmit"},
        "counters",
        _LANES,
    ),
    **_group(
        "hw.network.packets",
        "network.io.direction",
        {"port_rcv_packets": "receive", "port_xmit_packets": "transmit"},
        "counters",
    ),
    "counters/port_xmit_wait": PortCounter("hw.network.transmit_wait", {}),
    **_group(
        "hw.network.link.events",
        "hw.network.link.event",
        {"link_error_recovery": "recovered", "link_downed": "downed"},
        "counters",
    ),
    **_group(
        "hw.errors",
        "error.type",
        {
            "symbol_error": "symbol",
            "port_rcv_errors": "receive",
            "port_rcv_remote_physical_errors": "remote_physical",
            "port_rcv_switch_relay_errors": "switch_relay",
            "port_rcv_constraint_errors": "receive_constraint",
            "port_xmit_constraint_errors": "transmit_constraint",
            "port_xmit_discards": "transmit_discard",
            "local_link_integrity_errors": "link_integrity",
            "excessive_buffer_overrun_errors": "buffer_overrun",
            "VL15_dropped": "management_dropped",
        },
        "counters",
    ),
    **_group(
        "hw.network.congestion.events",
        "hw.network.congestion.event",
        {
            "np_cnp_sent": "notification_sent",
            "rp_cnp_handled": "notification_handled",
            "rp_cnp_ignored": "notification_ignored",
            "np_ecn_marked_roce_packets": "marked",
        },
        "hw_counters",
    ),
    **_group(
        "hw.network.transport.events",
        "hw.network.transport.event",
        {
            "out_of_sequence": "out_of_sequence",
            "packet_seq_err": "sequence_error",
            "implied_nak_seq_err": "implied_sequence_error",
            "local_ack_timeout_err": "acknowledgement_timeout",
            "rnr_nak_retry_err": "receiver_not_ready",
            "out_of_buffer": "out_of_buffer",
            "duplicate_request": "duplicate_request",
            "req_transport_retries_exceeded": "retries_exceeded",
            "roce_adp_retrans": "adaptive_retransmission",
            "roce_slow_restart": "slow_restart",
        },
        "hw_counters",
    ),
}
"""By file, from the port's folder."""

UP = PortCounter("hw.network.up", {})
BANDWIDTH = PortCounter("hw.network.bandwidth.limit", {})
