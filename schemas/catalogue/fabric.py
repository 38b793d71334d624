"""Metrics of InfiniBand and RoCE ports; named as OpenTelemetry's `hw.network` where that has a name."""

from pulsetrain.schemas.catalogue.metric import BetweenSamples, counter, gauge

FABRIC_METRICS = (
    counter("hw.network.io", "By", "Bytes by network.io.direction; of all ports, or one (hw.id)."),
    counter("hw.network.packets", "{packet}", "Packets by network.io.direction; of all ports, or one (hw.id)."),
    gauge(
        "hw.network.up",
        "1",
        "1 where a port can carry data (InfiniBand state ACTIVE), 0 where not; of all ports their share.",
        valid_max=1.0,
        between_samples=BetweenSamples.HOLD,
    ),
    gauge(
        "hw.network.bandwidth.limit",
        "By/s",
        "Rate of the link as it was trained, each direction; the sum over all ports, or of one (hw.id).",
        between_samples=BetweenSamples.HOLD,
    ),
    counter(
        "hw.network.transmit_wait",
        "{tick}",
        "Ticks of the port's clock in which data waited because no credit or no turn came.",
    ),
    counter("hw.network.link.events", "{event}", "Changes of a link by hw.network.link.event: recovered, downed."),
    counter(
        "hw.network.congestion.events",
        "{packet}",
        "Signs of congestion by hw.network.congestion.event: notifications sent and obeyed, packets marked on the way.",
    ),
    counter(
        "hw.network.transport.events",
        "{event}",
        "Trouble between two ends by hw.network.transport.event: out of sequence, timed out, not ready, sent again.",
    ),
)
