import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.attribution.environment import MAX_ENVIRONMENT_BYTES, labels_in_environ
from pulsetrain.agents.hook.identity import identify


def environ(**variables: str) -> bytes:
    return b"".join(f"{name}={value}\0".encode() for name, value in variables.items())


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        (environ(SLURM_JOB_ID="8412", SLURM_PROCID="3"), {"job": "8412", "rank": "3"}),
        (environ(SLURM_JOB_ID="8412", PULSETRAIN_JOB="llm"), {"job": "llm"}),
        (environ(SLURM_JOB_ID="8412", SLURM_PROCID="1", RANK="11"), {"job": "8412", "rank": "11"}),
        (environ(TORCHELASTIC_RUN_ID="llama", RANK="0"), {"job": "llama", "rank": "0"}),
        (environ(TORCHELASTIC_RUN_ID="none", RANK="0"), {"rank": "0"}),
        (environ(JOB_NAME="pretrain", OMPI_COMM_WORLD_RANK="7"), {"job": "pretrain", "rank": "7"}),
        (environ(POD_NAME="trainer-0", POD_NAMESPACE="research"), {"pod": "trainer-0", "namespace": "research"}),
        (environ(RANK="", SLURM_PROCID="2"), {"rank": "2"}),
        (environ(RANK="-1"), {}),
        (environ(RANK="²"), {}),
        (environ(RANK="0; reboot"), {}),
        (environ(JOB_NAME="two\nlines"), {}),
        (environ(JOB_NAME="j" * 254), {}),
        (b"JOB_NAME=\xff\0", {}),
        (b"RANK=1", {}),
        (b"", {}),
    ],
)
def test_job_rank_and_pod_come_from_variables_of_known_names(content: bytes, labels: dict[str, str]) -> None:
    assert labels_in_environ(content) == labels


VARIABLES = ("PULSETRAIN_JOB", "SLURM_JOB_ID", "JOB_NAME", "TORCHELASTIC_RUN_ID", "RANK", "SLURM_PROCID", "PMI_RANK")


@given(st.dictionaries(st.sampled_from(VARIABLES), st.sampled_from(["1", "2", "3", "none", ""])))
def test_a_process_has_the_job_and_the_rank_that_its_training_hook_tells(variables: dict[str, str]) -> None:
    ranks = {name: value for name, value in variables.items() if value.isdecimal() or name in VARIABLES[:4]}
    told = identify(None, None, ranks, lambda: None, lambda: "nobody")
    found = labels_in_environ(environ(**ranks))
    assert (found.get("job", "nobody"), int(found.get("rank", "0"))) == (told.job, told.rank)


def test_no_other_variable_leaves_the_environment() -> None:
    content = environ(API_KEY="hunter2", MY_RANK="5", RANKS="6", RANK="4", RANK_="7")
    assert labels_in_environ(content) == {"rank": "4"}


def test_the_first_of_two_variables_of_one_name_counts_as_in_getenv() -> None:
    assert labels_in_environ(b"RANK=1\0RANK=2\0") == {"rank": "1"}


def test_a_variable_that_the_limit_cuts_is_not_seen() -> None:
    before = environ(FILL="x" * (MAX_ENVIRONMENT_BYTES - len("FILL=\0") - len("RANK=1")))
    assert labels_in_environ(before + b"RANK=12\0") == {}


@given(st.binary(max_size=500))
def test_any_bytes_are_read_without_an_error(content: bytes) -> None:
    assert labels_in_environ(content).keys() <= {"job", "rank", "pod", "namespace"}
