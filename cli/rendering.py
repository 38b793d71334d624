"""Records as people read them: a line, or a short block, each."""

from collections.abc import Mapping
from datetime import datetime

import numpy as np
from rich.text import Text

from pulsetrain.cli.decoding import DeadLetter, Record, Tombstone
from pulsetrain.schemas.anomaly import Anomaly, AnomalyState
from pulsetrain.schemas.dead_letter import Position
from pulsetrain.schemas.feature_selection import DroppedFeature, FeatureSelection
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount
from pulsetrain.schemas.label import Label
from pulsetrain.schemas.model_release import ModelChunk, ModelManifest, ModelPointer
from pulsetrain.schemas.sample_block import SampleBlock
from pulsetrain.schemas.status import Severity, Status
from pulsetrain.schemas.times import utc_time

_SHOWN_VALUES = 8
_SHOWN_BYTES = 60
_SEVERITY_STYLES = {Severity.INFO: "green", Severity.WARNING: "yellow", Severity.ERROR: "bold red"}
_STATE_STYLES = {AnomalyState.OPEN: "bold red", AnomalyState.CLOSED: "green"}


def readable(record: Record) -> Text:
    """A record as styled text, safe for a terminal whatever its fields hold."""
    lines: list[Text]
    match record:
        case Status():
            lines = [_status(record)]
        case Anomaly():
            lines = _anomaly(record)
        case Label():
            lines = [_label(record)]
        case SampleBlock():
            lines = _sample_block(record)
        case FeatureWindow():
            lines = [_feature_window(record)]
        case ModelManifest():
            lines = _manifest(record)
        case ModelChunk():
            lines = [_line(("chunk ", "dim"), record.key, f"  {len(record.data)} bytes")]
        case ModelPointer():
            lines = _pointer(record)
        case DeadLetter():
            lines = _dead_letter(record)
        case Tombstone():
            lines = [_line(("deleted ", "bold"), record.key)]
    return Text("\n").join(lines)


def undecodable(position: Position, reason: str) -> Text:
    """The line for a message that is no record of its topic."""
    return _line(
        ("undecodable ", "bold red"), f"{position.topic}[{position.partition}]@{position.offset}: ", (reason, "red")
    )


def printable(text: str) -> str:
    """The text with its control characters escaped, so that it can't command a terminal."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _line(*parts: str | tuple[str, str]) -> Text:
    line = Text()
    for part in parts:
        text, style = part if isinstance(part, tuple) else (part, "")
        line.append(printable(text), style)
    return line


def _time(time: datetime) -> tuple[str, str]:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z") + " ", "dim"


def _number(value: float | None) -> str:
    return "missing" if value is None or np.isnan(value) else f"{value:.6g}"


def _pairs(values: Mapping[str, str] | Mapping[str, str | int | float | None]) -> str:
    return "".join(f"  {name}={v if isinstance(v, str | int) else _number(v)}" for name, v in values.items())


def _labels(labels: Mapping[str, str]) -> tuple[str, str]:
    return _pairs(labels), "dim"


def _status(status: Status) -> Text:
    about = f" about {status.entity}" if status.entity else ""
    return _line(
        _time(status.at),
        (f"{status.severity:<8}", _SEVERITY_STYLES[status.severity]),
        (f"{status.source} ", "bold"),
        (f"{status.event}{about}: ", "cyan"),
        status.message,
        (_pairs(status.details), "dim"),
    )


def _anomaly(anomaly: Anomaly) -> list[Text]:
    quality = anomaly.data_quality
    shares = [(name, getattr(quality, name)) for name in ("missing", "filled", "late", "out_of_order", "invalid")]
    return [
        _line(
            _time(anomaly.window_end),
            (f"{anomaly.state.upper():<7}", _STATE_STYLES[anomaly.state]),
            (anomaly.entity, "bold"),
            f"  score {_number(anomaly.score)}, {anomaly.flagged_windows} windows flagged",
            _labels(anomaly.labels),
        ),
        _line(("  id       ", "dim"), anomaly.id, (f"  revision {anomaly.revision}", "dim")),
        *[
            _line(
                ("  evidence ", "dim"),
                (evidence.metric, "bold"),
                f" {evidence.feature} {_number(evidence.value)}, expected {_number(evidence.expected)} "
                f"({_number(evidence.deviation_sigma)} sigma)",
            )
            for evidence in anomaly.evidence
        ],
        *[
            _line(
                ("  vote     ", "dim"),
                f"{vote.detector} {_number(vote.score)}, threshold {_number(vote.threshold)}",
                (" flagged", "red") if vote.flagged else " not flagged",
            )
            for vote in anomaly.votes
        ],
        _line(
            ("  model    ", "dim"),
            f"{anomaly.model.name} version {anomaly.model.version}; samples ",
            ", ".join(f"{name} {share:.1%}" for name, share in shares),
            f"; {quality.imputed_columns} columns imputed",
        ),
    ]


def _label(label: Label) -> Text:
    span = f" ({_time(label.start)[0]}to {_time(label.end)[0].rstrip()})" if label.start and label.end else ""
    note = f": {label.note}" if label.note else ""
    return _line(
        _time(label.at), (f"{label.verdict} ", "bold cyan"), label.anomaly_id, span, (f" by {label.by}", "dim"), note
    )


def _sample_block(block: SampleBlock) -> list[Text]:
    ticks, metrics = block.values.shape
    missing = float(np.isnan(block.values).mean())
    rest = metrics - _SHOWN_VALUES
    newest = [f"{name}={_number(v)}" for name, v in zip(block.metrics, block.values[-1].tolist(), strict=True)]
    return [
        _line(
            _time(utc_time(int(block.ticks_ns[-1]))),
            (block.entity, "bold"),
            f" {block.collector} block {block.sequence}: {ticks} ticks x {metrics} metrics, {missing:.1%} missing",
            _labels(block.labels),
        ),
        _line("  ", "  ".join(newest[:_SHOWN_VALUES]), (f"  and {rest} more" if rest > 0 else "", "dim")),
    ]


def _feature_window(window: FeatureWindow) -> Text:
    metrics, features = window.values.shape
    missing = float(np.isnan(window.values).mean()) if window.values.size else 0.0
    totals = window.counts.sum(axis=0).tolist()
    counts = ", ".join(f"{name} {total}" for name, total in zip(SampleCount, totals, strict=True))
    return _line(
        _time(utc_time(window.end_ns)),
        (window.entity, "bold"),
        f" window of {(window.end_ns - window.start_ns) / 1e9:g} s: {metrics} metrics x {features} features, "
        f"{missing:.1%} missing; samples {counts}",
        ("" if window.complete else "; closed before its end", "yellow"),
        _labels(window.labels),
    )


def _manifest(manifest: ModelManifest) -> list[Text]:
    return [
        _line(
            _time(utc_time(manifest.created_ns)),
            ("manifest ", "dim"),
            (f"{manifest.name} version {manifest.version}", "bold"),
            f" ({manifest.reason}): {len(manifest.columns)} columns, graph {manifest.graph_bytes} bytes, "
            f"state {manifest.state_bytes} bytes in {manifest.chunk_count} chunks",
        ),
        _line(
            f"  trained on {manifest.training_windows} windows and {manifest.labels_used} labels from ",
            _time(utc_time(manifest.training_start_ns)),
            "to ",
            _time(utc_time(manifest.training_end_ns)),
        ),
        _line(("  sha256 ", "dim"), manifest.sha256),
        *(_selection(manifest.selection) if manifest.selection else []),
    ]


def _selection(selection: FeatureSelection) -> list[Text]:
    return [
        *[
            _line(("  step     ", "dim"), (step.name, "bold"), ": " if step.applied else ": not taken, ", step.detail)
            for step in selection.steps
        ],
        *[
            _line(
                ("  dropped  ", "dim"),
                (group.reason, "bold"),
                f" {group.count} of {selection.offered}: ",
                ", ".join(_dropped_feature(each) for each in group.named[:_SHOWN_VALUES]),
                (" ..." if group.count > min(len(group.named), _SHOWN_VALUES) else "", "dim"),
            )
            for group in selection.dropped
        ],
    ]


def _dropped_feature(feature: DroppedFeature) -> str:
    figure = "" if feature.figure is None else f" ({feature.figure:.3g})"
    return f"{feature.name}{figure}" + (f" as {feature.kept}" if feature.kept else "")


def _pointer(pointer: ModelPointer) -> list[Text]:
    return [
        _line(("pointer ", "dim"), (pointer.name, "bold")),
        *[
            _line(f"  version {release.version} from ", _time(utc_time(release.effective_from_ns)))
            for release in pointer.releases
        ],
    ]


def _dead_letter(letter: DeadLetter) -> list[Text]:
    preview = repr(letter.value[:_SHOWN_BYTES])[2:-1]
    return [
        _line(
            ("dead letter ", "bold red"),
            f"{letter.topic}[{letter.partition}]@{letter.offset}: ",
            (letter.reason, "red"),
        ),
        _line((f"  {len(letter.value)} bytes: ", "dim"), preview),
    ]
