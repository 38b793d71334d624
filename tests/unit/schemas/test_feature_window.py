"""FeatureWindow: what it carries unharmed, and what is refused on both ends."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, DataQuality, Evidence, Model, Vote, anomaly_id
from pulsetrain.schemas.avro import AvroCodec
from pulsetrain.schemas.errors import DecodeError, DecodeFailure, EncodeError
from pulsetrain.schemas.feature_window import (
    CODEC,
    MAX_WINDOW_BYTES,
    FeatureWindow,
    SampleCount,
    decode_feature_window,
    encode_feature_window,
)
from pulsetrain.schemas.json_record import decode_json, encode_json
from pulsetrain.schemas.times import utc_time

COUNTS = np.arange(2 * len(SampleCount), dtype=np.int64).reshape(2, -1)


def window(**changes: Any) -> FeatureWindow:
    good = FeatureWindow(
        node="a",
        session="s",
        entity="a/host",
        labels={},
        start_ns=0,
        end_ns=30_000_000_000,
        complete=True,
        metrics=("load", "v"),
        features=("mean", "median", "maximum"),
        values=np.arange(6.0).reshape(2, 3),
        counts=COUNTS,
    )
    return replace(good, **changes)


def raw(**changes: Any) -> bytes:
    """A message with fields as no encoder of ours would write them."""
    return AvroCodec(CODEC.schemas, MAX_WINDOW_BYTES).encode(CODEC.decode(encode_feature_window(window())) | changes)


names = st.text(min_size=1, max_size=20)


@st.composite
def windows(draw: st.DrawFn) -> FeatureWindow:
    metrics = tuple(draw(st.lists(names, max_size=4, unique=True)))
    features = tuple(draw(st.lists(names, max_size=4, unique=True)))
    start_ns = draw(st.integers(0, 2**62))
    return FeatureWindow(
        node=draw(names),
        session=draw(names),
        entity=draw(names),
        labels=draw(st.dictionaries(st.text(), st.text(), max_size=3)),
        start_ns=start_ns,
        end_ns=start_ns + draw(st.integers(1, 2**62 - 1)),
        complete=draw(st.booleans()),
        metrics=metrics,
        features=features,
        values=draw(hnp.arrays(np.float64, (len(metrics), len(features)))),
        counts=draw(hnp.arrays(np.int64, (len(metrics), len(SampleCount)), elements=st.integers(0, 2**63 - 1))),
        clock_offset_ns=draw(st.none() | st.integers(-(2**63), 2**63 - 1)),
    )


@given(windows())
def test_what_is_encoded_is_decoded_bit_for_bit(sent: FeatureWindow) -> None:
    received = decode_feature_window(encode_feature_window(sent))
    assert received.values.tobytes() == sent.values.tobytes()
    assert received.values.shape == sent.values.shape
    assert received.counts.tolist() == sent.counts.tolist()
    without_arrays: dict[str, Any] = {"values": np.array([]), "counts": np.array([])}
    assert repr(replace(received, **without_arrays)) == repr(replace(sent, **without_arrays))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node": ""}, "node must have"),
        ({"session": ""}, "session must have"),
        ({"entity": ""}, "entity must have"),
        ({"entity": "e" * 461}, "entity must have 1 to 460"),
        ({"labels": {str(i): "" for i in range(65)}}, "65 labels"),
        ({"labels": {"k" * 257: ""}}, "more than 256"),
        ({"labels": {"k": "v" * 257}}, "label 'k' has more than 256"),
        ({"metrics": ("load", "m" * 513)}, "name must have 1 to 512"),
        ({"metrics": ("load", "")}, "name must have 1 to 512"),
        ({"features": ("mean", "median", "f" * 513)}, "name must have 1 to 512"),
        ({"start_ns": -1}, "must start at or after the Unix epoch"),
        ({"end_ns": 0}, "end after its start"),
        ({"metrics": ("v", "v")}, "named twice"),
        ({"features": ("mean", "mean", "maximum")}, "named twice"),
        ({"counts": -COUNTS}, "must not be negative"),
    ],
)
def test_a_window_that_breaks_a_rule_is_refused_on_both_ends(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        encode_feature_window(window(**changes))
    as_fields = {
        name: v.tobytes() if isinstance(v, np.ndarray) else list(v) if isinstance(v, tuple) else v
        for name, v in changes.items()
    }
    with pytest.raises(DecodeError, match=reason) as caught:
        decode_feature_window(raw(**as_fields))
    assert caught.value.failure is DecodeFailure.INVALID


def test_a_window_that_ends_beyond_the_last_time_of_a_long_is_not_sent() -> None:
    assert decode_feature_window(encode_feature_window(window(end_ns=2**63 - 1))).end_ns == 2**63 - 1
    with pytest.raises(EncodeError, match="does not fit its schema"):
        encode_feature_window(window(end_ns=2**63))


@pytest.mark.parametrize("changes", [{"values": np.zeros((3, 2))}, {"counts": COUNTS[:1]}, {"metrics": ("load",)}])
def test_a_window_whose_arrays_disagree_is_not_sent(changes: dict[str, Any]) -> None:
    with pytest.raises(EncodeError, match="have shape"):
        encode_feature_window(window(**changes))


@pytest.mark.parametrize(
    "changes", [{"values": bytes(40)}, {"counts": bytes(COUNTS.nbytes - 8)}, {"metrics": ["load"]}]
)
def test_arrays_that_do_not_fill_their_shape_are_invalid(changes: dict[str, Any]) -> None:
    with pytest.raises(DecodeError, match="bytes where"):
        decode_feature_window(raw(**changes))


def test_counts_under_other_names_are_invalid_rather_than_misread() -> None:
    with pytest.raises(DecodeError, match="counts named"):
        decode_feature_window(raw(count_names=["measured", "expected", *list(SampleCount)[2:]]))


@pytest.mark.parametrize("widest", ["\x00", "\N{PILE OF POO}", '"', "x"])
def test_an_anomaly_of_the_largest_window_is_a_valid_one(widest: str) -> None:
    labels = {f"{i:02}" + widest * 254: widest * 256 for i in range(64)}
    metrics = tuple(f"{i}" + widest * 511 for i in range(5))
    largest = decode_feature_window(
        encode_feature_window(
            window(
                node=widest * 512,
                entity=widest * 460,
                labels=labels,
                metrics=metrics,
                features=(widest * 512,),
                values=np.zeros((5, 1)),
                counts=np.zeros((5, len(SampleCount)), dtype=np.int64),
            )
        )
    )
    end = utc_time(largest.end_ns)
    anomaly = Anomaly(
        id=anomaly_id(largest.entity, largest.end_ns, "detect"),
        revision=2**63 - 1,
        state=AnomalyState.OPEN,
        stage="detect",
        entity=largest.entity,
        node=largest.node,
        labels=dict(largest.labels),
        first_window_end=end,
        window_start=utc_time(largest.start_ns),
        window_end=end,
        flagged_windows=2**63 - 1,
        score=-1.2345678901234567e-300,
        votes=[Vote(detector="d" * 512, score=1e-300, threshold=1e-300, flagged=True)] * 3,
        evidence=[
            Evidence(metric=m, feature=largest.features[0], value=1e-300, expected=1e-300, deviation_sigma=1e-300)
            for m in largest.metrics
        ],
        model=Model(name="host", version=2**63 - 1),
        data_quality=DataQuality(missing=0.1, filled=0.1, late=0.1, out_of_order=0.1, invalid=0.1, imputed_columns=1),
    )
    assert decode_json(encode_json(anomaly), Anomaly) == anomaly
