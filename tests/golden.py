"""Writes the golden messages of the current record version: `python -m tests.golden`.

A golden message is a promise that its bytes can be read for ever, so a file that is there already is never
written again. A new version of a record gets a folder of its own beside v1.
"""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, DataQuality, Evidence, Model, Vote
from pulsetrain.schemas.feature_selection import (
    DroppedFeature,
    DroppedFeatures,
    FeatureSelection,
    SelectionStep,
)
from pulsetrain.schemas.feature_window import FeatureWindow, encode_feature_window
from pulsetrain.schemas.json_record import encode_json
from pulsetrain.schemas.label import Label, LabelVerdict
from pulsetrain.schemas.model_release import (
    EffectiveRelease,
    ModelChunk,
    ModelManifest,
    ModelPointer,
    encode_model_record,
)
from pulsetrain.schemas.sample_block import SampleBlock, encode_sample_block
from pulsetrain.schemas.status import Severity, Status, StatusEvent

FOLDER = Path(__file__).parent / "data" / "golden"


def golden_messages() -> dict[str, bytes]:
    """One message of each record in its newest version, by folder and file name."""
    return {
        "v1/sample_block.bin": encode_sample_block(
            SampleBlock(
                node="node-00",
                session="0f8b2c4e",
                boot_id="6d1f0a52-7a1c-4b0e-9d57-2f1b1c9f7a10",
                collector="host",
                entity="node-00/host",
                labels={"job": "llama", "rank": "3"},
                sequence=42,
                sent_until_ns=1_767_225_599_900_000_000,
                interval_ns=100_000_000,
                ticks_ns=np.array([1_767_225_600_000_000_000, 1_767_225_600_100_000_000], dtype=np.int64),
                metrics=("system.cpu.utilization", "system.memory.usage", "hw.gpu.temperature"),
                values=np.array([[0.25, 8_589_934_592.0, np.nan], [-0.0, 5e-324, 71.3]]),
                missing={"hw.gpu.temperature": "not_supported"},
            )
        ),
        "v2/feature_window.bin": encode_feature_window(
            FeatureWindow(
                node="node-00",
                session="0f8b2c4e",
                entity="node-00/gpu:GPU-é",
                labels={"job": "llama"},
                start_ns=1_767_225_600_000_000_000,
                end_ns=1_767_225_630_000_000_000,
                complete=False,
                metrics=("system.cpu.utilization", "hw.gpu.temperature"),
                features=("mean", "autocorrelation__lag_1", "c3__lag_3"),
                values=np.array([[0.5, -1.0, 1e300], [71.3, np.nan, np.nan]]),
                counts=np.array(
                    [[300, 297, 1, 2, 3, 4, 5, 2, 0, 3], [30, 0, 0, 0, 0, 0, 30, 0, 30, 0]], dtype=np.int64
                ),
                clock_offset_ns=-1_250_000,
            )
        ),
        "v2/model_manifest.bin": encode_model_record(
            ModelManifest(
                name="host",
                version=7,
                created_ns=1_767_225_600_000_000_000,
                reason="labels",
                columns=("system.cpu.utilization__mean", "system.memory.usage__maximum"),
                medians=(0.125, 8_589_934_592.0),
                opsets={"": 18, "ai.onnx.ml": 3},
                ir_version=10,
                graph_bytes=600_000,
                state_bytes=1_000,
                sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                training_start_ns=1_767_222_000_000_000_000,
                training_end_ns=1_767_225_600_000_000_000,
                training_windows=720,
                labels_used=2,
                selection=FeatureSelection(
                    offered=5,
                    steps=(
                        SelectionStep("stability", True, "120 windows that share no sample, in 4 spans of time"),
                        SelectionStep("timeliness", False, "no fault is labelled"),
                    ),
                    dropped=(
                        DroppedFeatures("volatile", 2, (DroppedFeature("system.memory.usage__mean", 0.5),)),
                        DroppedFeatures(
                            "duplicate",
                            1,
                            (DroppedFeature("system.memory.usage__median", 0.9921875, "system.memory.usage__maximum"),),
                        ),
                    ),
                ),
            )
        ),
        "v1/model_chunk.bin": encode_model_record(ModelChunk(name="host", version=7, index=1, data=bytes(range(256)))),
        "v1/model_pointer.bin": encode_model_record(
            ModelPointer(
                name="host",
                releases=(
                    EffectiveRelease(version=6, effective_from_ns=1_767_222_010_000_000_000),
                    EffectiveRelease(version=7, effective_from_ns=1_767_225_610_000_000_000),
                ),
            )
        ),
        "v1/anomaly.json": encode_json(
            Anomaly(
                id="node-00/host@20260101T000030.000Z:detect",
                revision=1,
                state=AnomalyState.CLOSED,
                stage="detect",
                entity="node-00/host",
                node="node-00",
                labels={"job": "llama"},
                first_window_end=datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC),
                window_start=datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC),
                window_end=datetime(2026, 1, 1, 0, 0, 35, tzinfo=UTC),
                flagged_windows=2,
                score=1.75,
                votes=[
                    Vote(detector="zscore", score=9.5, threshold=3.0, flagged=True),
                    Vote(detector="mahalanobis", score=float("nan"), threshold=None, flagged=False),
                ],
                evidence=[
                    Evidence(
                        metric="system.cpu.utilization",
                        feature="mean",
                        value=0.99,
                        expected=0.25,
                        deviation_sigma=9.5,
                    )
                ],
                model=Model(name="host", version=7),
                data_quality=DataQuality(
                    missing=0.0, filled=0.01, late=0.0, out_of_order=0.0, invalid=1.0, imputed_columns=3
                ),
            )
        ),
        "v1/label.json": encode_json(
            Label(
                anomaly_id="node-00/host@20260101T000030.000Z:detect",
                verdict=LabelVerdict.FALSE_POSITIVE,
                by="olga",
                at=datetime(2026, 1, 1, 8, 15, tzinfo=UTC),
                note="nightly backup – no fault",
            )
        ),
        "v1/label_missed.json": encode_json(
            Label(
                anomaly_id="node-01/host@2026-01-01T02:00:00Z",
                verdict=LabelVerdict.MISSED,
                by="olga",
                at=datetime(2026, 1, 1, 8, 15, tzinfo=UTC),
                entity="node-01/host",
                start=datetime(2026, 1, 1, 2, 0, tzinfo=UTC),
                end=datetime(2026, 1, 1, 2, 5, tzinfo=UTC),
            )
        ),
        "v1/status.json": encode_json(
            Status(
                source="node-00",
                event=StatusEvent.SAMPLES_DROPPED,
                severity=Severity.WARNING,
                at=datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC),
                message="12 of 1200 blocks could not be sent",
                entity="node-00/host",
                details={"dropped": 12, "share": 0.01, "reason": "queue full", "oldest": None},
            )
        ),
    }


if __name__ == "__main__":
    for name, message in golden_messages().items():
        file = FOLDER / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_bytes(message)
