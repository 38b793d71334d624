"""What a trainer publishes beside the graph: the fitted model, and the labelled windows that it has learned from.

The windows travel with the model, because the topic that they came from forgets them: a later label must add to what
was learned, not replace it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
import numpy as np

from pulsetrain.models.errors import ModelRejectedError
from pulsetrain.models.fitting import FittedModel
from pulsetrain.models.labels import LabelledEpisode
from pulsetrain.models.state import from_state, to_state
from pulsetrain.schemas.arrays import FloatArray, float_bytes, floats_from
from pulsetrain.schemas.errors import DecodeError
from pulsetrain.schemas.label import Label
from pulsetrain.schemas.model_release import MAX_PAYLOAD_BYTES

FORMAT = 1

MAX_EPISODE_WINDOWS = 256
"""Windows of one episode that are learned from, evenly spaced; a long one says little more."""

WindowCount = Annotated[int, msgspec.Meta(ge=0, le=MAX_EPISODE_WINDOWS)]


@dataclass(frozen=True, slots=True)
class LearnedEpisode:
    """An episode and its windows as rows (windows, columns of the model), imputed; none where there were none left."""

    episode: LabelledEpisode
    rows: FloatArray


@dataclass(frozen=True, slots=True)
class TrainerState:
    """A model and what it has learned from labels, by the id of the label."""

    model: FittedModel
    learned: Mapping[str, LearnedEpisode] = field(default_factory=dict)


class _Episode(msgspec.Struct, frozen=True, kw_only=True):
    label: Label
    entity: str
    start_ns: int
    end_ns: int
    is_settled: bool
    windows: WindowCount
    rows: bytes


class _State(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    model: bytes
    episodes: list[_Episode]


def encode_trainer_state(state: TrainerState) -> bytes:
    """The state as MessagePack; rows are little-endian float64."""
    episodes = [
        _Episode(
            label=learned.episode.label,
            entity=learned.episode.entity,
            start_ns=learned.episode.start_ns,
            end_ns=learned.episode.end_ns,
            is_settled=learned.episode.is_settled,
            windows=len(learned.rows),
            rows=float_bytes(learned.rows),
        )
        for learned in state.learned.values()
    ]
    return msgspec.msgpack.encode(_State(format=FORMAT, model=to_state(state.model), episodes=episodes))


def decode_trainer_state(message: bytes) -> TrainerState:
    """The state of a release.

    Raises:
        ModelRejectedError: the bytes are damaged, too large, of another format or inconsistent.
    """
    if len(message) > MAX_PAYLOAD_BYTES:
        raise ModelRejectedError(f"a trainer's state has at most {MAX_PAYLOAD_BYTES} bytes, this one {len(message)}")
    try:
        state = msgspec.msgpack.decode(message, type=_State)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelRejectedError(f"not a trainer's state: {error}") from error
    if state.format != FORMAT:
        raise ModelRejectedError(f"a trainer's state of format {state.format}: {FORMAT} is expected")
    model = from_state(state.model)
    learned = [_learned(episode, len(model.columns)) for episode in state.episodes]
    return TrainerState(model, {each.episode.id: each for each in learned})


def _learned(episode: _Episode, columns: int) -> LearnedEpisode:
    try:
        rows = floats_from(episode.rows, (episode.windows, columns), "rows")
    except DecodeError as error:
        raise ModelRejectedError(f"windows of label {episode.label.anomaly_id}: {error.detail}") from error
    if not np.isfinite(rows).all():
        raise ModelRejectedError(f"windows of label {episode.label.anomaly_id} are not finite numbers")
    times = (episode.start_ns, episode.end_ns)
    return LearnedEpisode(LabelledEpisode(episode.label, episode.entity, *times, episode.is_settled), rows)
