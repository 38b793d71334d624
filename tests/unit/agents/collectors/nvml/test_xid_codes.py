"""What codes mean and how urgent they are, against the columns of NVIDIA's Xid catalogue.

https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
"""

import pytest

from pulsetrain.agents.collectors.nvml.xid_codes import meaning, severity
from pulsetrain.schemas.status import Severity

RESET_OR_WORSE = (
    46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 142, 143, *range(144, 152), 155, 156, 158
)  # fmt: skip
"""The immediate action is a reset, a restart of more than a program, a workflow or the support."""

START_AGAIN_OR_IGNORE = (13, 31, 32, 43, 44, 63, 68, 69, 92, 94, 121, 137, 139, 141, 154, 157, 160, 161)
"""It is to start the program again, to ignore it, or to look at another Xid."""

WITHOUT_ACTION = (166, 167, 168, 169, 170, 171, 172, 173, 175)
POWER_SMOOTHING = (162, 163, 164, 165)


@pytest.mark.parametrize("code", [*RESET_OR_WORSE, *WITHOUT_ACTION])
def test_what_asks_for_more_than_a_new_start_of_the_program_is_an_error(code: int) -> None:
    assert (meaning(code) != "", severity(code)) == (True, Severity.ERROR)


@pytest.mark.parametrize("code", [*START_AGAIN_OR_IGNORE, *POWER_SMOOTHING])
def test_what_asks_for_no_more_is_a_warning(code: int) -> None:
    assert (meaning(code) != "", severity(code)) == (True, Severity.WARNING)


@pytest.mark.parametrize("code", [1, 90, 138, 152, 153, 999])
def test_a_code_without_a_meaning_in_the_catalogue_has_none_here_and_is_taken_seriously(code: int) -> None:
    assert (meaning(code), severity(code)) == ("", Severity.ERROR)


def test_the_parts_of_nvlink_are_told_by_their_names() -> None:
    parts = {144: "SAW", 145: "RLW", 146: "TLW", 147: "TREX", 148: "NVLPW_CTRL", 149: "NETIR", 150: "MSE"}
    assert {code: meaning(code) for code in parts} == {code: f"NVLink error ({part})" for code, part in parts.items()}
