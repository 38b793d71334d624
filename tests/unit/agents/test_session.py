"""What the blocks of one start have in common: labels of the node and of the entity, as many as a block may have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.sampler import Samples
from pulsetrain.agents.session import Batch, Node, Session
from pulsetrain.schemas.sample_block import SampleBlock, decode_sample_block, encode_sample_block

Labels = dict[str, str]


def batch(labels: Labels) -> Batch:
    samples = Samples(np.array([1]), np.zeros((1, 1)), {}, {})
    return Batch("scrape", "gpu:0", 1, ("a",), samples, labels)


def block(nodes: Labels, entitys: Labels) -> SampleBlock:
    return Session(Node("n", "boot", nodes)).block(batch(entitys))


def numbered(prefix: str, count: int) -> Labels:
    return {f"{prefix}{number:02}": "x" for number in range(count)}


def test_what_is_known_of_the_entity_wins_over_what_is_known_of_the_node() -> None:
    assert block({"job": "node's", "rack": "7"}, {"job": "its own"}).labels == {"job": "its own", "rack": "7"}


def test_beyond_64_the_nodes_labels_go_first_whatever_the_order() -> None:
    own = numbered("own", 60)
    expected = own | numbered("node", 4)
    assert block(numbered("node", 64), own).labels == expected
    assert block(dict(reversed(numbered("node", 64).items())), dict(reversed(own.items()))).labels == expected


def test_what_is_left_out_is_told_once_and_the_block_can_be_sent(caplog: pytest.LogCaptureFixture) -> None:
    session = Session(Node("n", "boot", {"rack": "7"}))
    for _ in range(3):
        sent = decode_sample_block(encode_sample_block(session.block(batch({"job": "a", "note": "x" * 257}))))
        assert sent.labels == {"job": "a", "rack": "7"}
    assert caplog.messages == [
        "1 labels of gpu:0 are left out, 'note' first: a block has at most 64, of 256 characters each."
    ]


some_labels = st.dictionaries(st.text(max_size=300), st.text(max_size=300), max_size=80)


@given(some_labels, some_labels.filter(bool))
def test_a_block_can_be_sent_whatever_an_entitys_labels_are(nodes: Labels, entitys: Labels) -> None:
    fitting = {key: value for key, value in list(nodes.items())[:64] if max(len(key), len(value)) <= 256}
    encode_sample_block(block(fitting, entitys))
