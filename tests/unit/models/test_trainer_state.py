"""The trainer's state survives the way through a release, and damaged bytes are refused, never worse."""

from datetime import UTC, datetime
from functools import lru_cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.models.errors import ModelRejectedError
from pulsetrain.models.fitting import fit
from pulsetrain.models.labels import LabelledEpisode
from pulsetrain.models.state import to_state
from pulsetrain.models.trainer_state import (
    LearnedEpisode,
    TrainerState,
    decode_trainer_state,
    encode_trainer_state,
)
from pulsetrain.schemas.label import Label, LabelVerdict

NS = 1_000_000_000
NAMES = ("cpu__mean", "memory__mean")


@lru_cache
def state() -> TrainerState:
    rows = np.random.default_rng(1).normal(size=(100, len(NAMES)))
    model = fit(rows, NAMES, np.arange(1, 101, dtype=np.int64) * 5 * NS, window_ns=5 * NS, hop_ns=5 * NS)
    label = Label(
        anomaly_id="node7/host@20250301T120000.000Z:detect",
        verdict=LabelVerdict.FALSE_POSITIVE,
        by="ana",
        at=datetime(2025, 3, 1, 13, tzinfo=UTC),
        note="nightly backup",
    )
    episode = LabelledEpisode(label, "node7/host", 10 * NS, 20 * NS, is_settled=True)
    return TrainerState(model, {label.anomaly_id: LearnedEpisode(episode, np.array([[1.5, -2.0], [3.0, 4.0]]))})


@lru_cache
def encoded() -> bytes:
    return encode_trainer_state(state())


def test_a_state_comes_back_as_it_was() -> None:
    decoded = decode_trainer_state(encoded())

    (before,), (after,) = state().learned.values(), decoded.learned.values()
    assert after.episode == before.episode
    assert after.rows.tolist() == [[1.5, -2.0], [3.0, 4.0]]
    assert to_state(decoded.model) == to_state(state().model)
    assert decoded.model.graph() == state().model.graph()


def test_equal_states_give_equal_bytes() -> None:
    assert encode_trainer_state(decode_trainer_state(encoded())) == encoded()


def changed(**fields: object) -> bytes:
    """The encoded state with other fields."""
    return msgspec.msgpack.encode({**msgspec.msgpack.decode(encoded()), **fields})


def changed_episode(**fields: object) -> bytes:
    (episode,) = msgspec.msgpack.decode(encoded())["episodes"]
    return changed(episodes=[{**episode, **fields}])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "not a trainer's state"),
        (encoded()[:-1], "not a trainer's state"),
        (changed(format=2), "format 2"),
        (changed(model=b"PK"), "not a model state"),
        (changed_episode(windows=3), "needs"),
        (changed_episode(windows=2**60), "not a trainer's state"),
        (changed_episode(rows=np.full((2, 2), np.nan).tobytes()), "not finite"),
        (changed_episode(label={}), "not a trainer's state"),
    ],
)
def test_a_damaged_state_is_refused_with_a_reason(message: bytes, reason: str) -> None:
    with pytest.raises(ModelRejectedError, match=reason):
        decode_trainer_state(message)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.binary(min_size=1, max_size=8))
def test_any_bytes_give_a_state_or_are_refused(position: int, noise: bytes) -> None:
    start = position % len(encoded())
    message = encoded()[:start] + noise + encoded()[start + len(noise) :]

    try:
        decoded = decode_trainer_state(message)
    except ModelRejectedError:
        return
    assert isinstance(decoded, TrainerState)
