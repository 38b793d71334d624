"""Feature windows that are as small as they can be."""

import numpy as np

from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount, encode_feature_window

_SECOND_NS = 1_000_000_000
_LENGTH_SECONDS = 30


def encoded_window(node: str, end_s: int) -> bytes:
    """A message of the features topic: the window of a node's host that ends then, with one feature of one metric."""
    return encode_feature_window(
        FeatureWindow(
            node=node,
            session="s",
            entity=f"{node}/host",
            labels={},
            start_ns=(end_s - _LENGTH_SECONDS) * _SECOND_NS,
            end_ns=end_s * _SECOND_NS,
            complete=True,
            metrics=("m",),
            features=("mean",),
            values=np.array([[1.0]]),
            counts=np.zeros((1, len(SampleCount)), dtype=np.int64),
        )
    )
