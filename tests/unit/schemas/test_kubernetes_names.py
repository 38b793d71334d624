from string import printable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.kubernetes_names import is_label_value, is_object_name, label_value, object_name


@pytest.mark.parametrize(
    ("text", "names_an_object", "is_a_value"),
    [
        ("rpi_node1", False, True),
        ("clang++", False, False),
        ("AMD INSTINCT MI250X (MCM)", False, False),
        ("NVIDIA_A100-SXM4-80GB", False, True),
        ("a" * 64, False, False),
        ("a" * 63, True, True),
        ("gpu-0", True, True),
        ("-gpu", False, False),
        ("gpu-", False, False),
        ("trainer.default", False, True),
        ("", False, True),
        ("gpu\n", False, False),
        ("ǆ", False, False),
    ],
)
def test_kubernetes_rules_for_names_and_label_values(text: str, names_an_object: bool, is_a_value: bool) -> None:
    assert (is_object_name(text), is_label_value(text)) == (names_an_object, is_a_value)


# The hashes are from sha256sum.
@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("rpi_node1", "rpi-node1-@", "rpi_node1"),
        ("clang++", "clang-@", "clang-@"),
        ("AMD INSTINCT MI250X (MCM)", "amd-instinct-mi250x-mcm-@", "AMD-INSTINCT-MI250X-MCM-@"),
        ("NVIDIA_A100-SXM4-80GB", "nvidia-a100-sxm4-80gb-@", "NVIDIA_A100-SXM4-80GB"),
        ("a" * 64, "a" * 54 + "-@", "a" * 54 + "-@"),
        ("++", "@", "@"),
        ("gpu-0", "gpu-0", "gpu-0"),
    ],
)
def test_text_becomes_a_name_by_what_can_be_kept_and_a_hash(text: str, name: str, value: str) -> None:
    digest = _SHA256[text]
    assert object_name(text) == name.replace("@", digest)
    assert label_value(text) == value.replace("@", digest)


_SHA256 = {
    "rpi_node1": "ff86db5a",
    "clang++": "90f97201",
    "AMD INSTINCT MI250X (MCM)": "749e4d3b",
    "NVIDIA_A100-SXM4-80GB": "36186858",
    "a" * 64: "ffe054fe",
    "++": "cfc0c060",
    "gpu-0": "c0d63064",
}


def test_texts_that_would_look_alike_stay_different() -> None:
    assert len({object_name(text) for text in ("a_b", "a-b", "a.b", "A-b", "a b", "a-b-")}) == 6
    assert len({label_value(text) for text in ("a b", "a-b", "a+b", "a-b-")}) == 4
    assert object_name("a-b") == "a-b"


@given(st.text(max_size=200) | st.text(printable, max_size=200))
def test_any_text_becomes_a_valid_name_and_a_valid_value_that_stay_the_same(text: str) -> None:
    name, value = object_name(text), label_value(text)
    assert is_object_name(name)
    assert is_label_value(value)
    assert (object_name(name), label_value(value)) == (name, value)
