"""Status: what agents and workers say about themselves and their data."""

from enum import StrEnum
from typing import Annotated

import msgspec

from pulsetrain.schemas.anomaly import Text
from pulsetrain.schemas.times import AwareTime, check_times


class StatusEvent(StrEnum):
    """The kinds of status messages."""

    HEARTBEAT = "heartbeat"
    STARTED = "started"
    STOPPED = "stopped"
    COLLECTOR_FAILED = "collector_failed"
    COLLECTOR_RECOVERED = "collector_recovered"
    DEGRADED_MODE_ENTERED = "degraded_mode_entered"
    DEGRADED_MODE_LEFT = "degraded_mode_left"
    SETTINGS_RELOADED = "settings_reloaded"
    SETTINGS_REJECTED = "settings_rejected"
    GPU_LOST = "gpu_lost"
    GPU_RETURNED = "gpu_returned"
    GPU_XID = "gpu_xid"
    SAMPLES_DROPPED = "samples_dropped"
    NODE_SILENT = "node_silent"
    NODE_RETURNED = "node_returned"
    CLOCK_IN_FUTURE = "clock_in_future"
    CLOCK_STUCK = "clock_stuck"
    CLOCK_JUMPED = "clock_jumped"
    UNKNOWN_METRICS = "unknown_metrics"
    WINDOW_FAILED = "window_failed"
    NOT_SCORED = "not_scored"
    WARMING_UP = "warming_up"
    MODEL_PUBLISHED = "model_published"
    MODEL_LOADED = "model_loaded"
    MODEL_ACTIVATED = "model_activated"
    MODEL_REJECTED = "model_rejected"
    TRAINING_REFUSED = "training_refused"
    LABEL_ACCEPTED = "label_accepted"
    LABEL_REJECTED = "label_rejected"


class Severity(StrEnum):
    """How urgent a status message is to an operator."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One status message; keyed by `source`, the node or worker that speaks."""

    source: Annotated[Text, msgspec.Meta(description="The node or worker that speaks.")]
    event: StatusEvent
    severity: Severity
    at: AwareTime
    message: Annotated[str, msgspec.Meta(description="One sentence for an operator.")]
    entity: Annotated[Text | None, msgspec.Meta(description="What it is about, where not the source itself.")] = None
    details: Annotated[
        dict[str, str | int | float | None], msgspec.Meta(description="Figures behind the message, by name.")
    ] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_times(at=self.at)
