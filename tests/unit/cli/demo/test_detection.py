"""Which verdict counts as the detection of a fault."""

import pytest

from pulsetrain.cli.demo.detection import Detection, Injection, Revision, verdicts_about
from pulsetrain.cli.demo.troubles import CPU_HOG, DISK_HAMMER, MEMORY_LEAK, NETWORK_COPY, Trouble
from pulsetrain.schemas.anomaly import AnomalyState, Evidence
from tests.unit.cli.demo.world import BEGIN, anomaly, evidence

START = BEGIN + 100
BUSY = "system.cpu.utilization"
SWITCHES = "system.linux.context_switches"


def find_detection(injection: Injection, revisions: list[Revision], strongest: int | None = None) -> Detection | None:
    return next(verdicts_about(injection, revisions, strongest), None)


def hog(ended_at: float | None = None) -> Injection:
    return Injection(CPU_HOG, START, ended_at)


def test_the_first_verdict_whose_evidence_names_the_faults_metric_counts() -> None:
    revisions = [
        Revision(anomaly(SWITCHES, end=START + 1), START + 3),
        Revision(anomaly(SWITCHES, BUSY, end=START + 2, first_end=START + 1, revision=1), START + 4.5),
        Revision(anomaly(BUSY, end=START + 3, first_end=START + 1, revision=2), START + 5),
    ]
    found = find_detection(hog(), revisions)
    assert found is not None
    assert found.after_seconds == 4.5
    assert found.anomaly.revision == 1
    assert found.evidence.metric == BUSY


def test_a_verdict_about_other_metrics_only_is_a_false_alarm() -> None:
    assert find_detection(hog(), [Revision(anomaly(SWITCHES, end=START + 2), START + 4)]) is None


def test_an_anomaly_that_named_the_metric_before_the_fault_is_about_something_else() -> None:
    revisions = [
        Revision(anomaly(BUSY, end=START), START + 2),
        Revision(anomaly(BUSY, end=START + 3, first_end=START, revision=1), START + 5),
    ]
    assert find_detection(hog(), revisions) is None


@pytest.mark.parametrize(("sigma", "counts"), [(35.9, False), (36.0, True)])
def test_an_anomaly_that_named_the_metric_before_counts_once_it_names_it_three_times_as_strongly(
    sigma: float, counts: bool
) -> None:
    grown = anomaly(evidence(BUSY, sigma), end=START + 3, first_end=START - 3, revision=1)
    revisions = [Revision(anomaly(evidence(BUSY, 12.0), end=START - 3), START - 1), Revision(grown, START + 5)]
    assert (find_detection(hog(), revisions) is not None) is counts


def test_what_an_anomaly_named_long_before_the_fault_does_not_matter() -> None:
    revisions = [
        Revision(anomaly(evidence(BUSY, 500.0), end=START - 11), START - 9),
        Revision(anomaly(BUSY, end=START + 2, first_end=START - 11, revision=9), START + 4),
    ]
    assert find_detection(hog(), revisions) is not None


def test_an_anomaly_that_was_open_before_and_names_the_metric_only_since_counts() -> None:
    revisions = [
        Revision(anomaly(SWITCHES, end=START - 1), START + 1),
        Revision(anomaly(BUSY, SWITCHES, end=START + 2, first_end=START - 1, revision=1), START + 4),
    ]
    assert find_detection(hog(), revisions) is not None


def test_an_anomaly_that_opens_while_another_of_the_same_metric_is_known_from_before_counts() -> None:
    revisions = [
        Revision(anomaly(BUSY, end=START - 30), START - 28),
        Revision(anomaly(BUSY, end=START + 2), START + 4),
    ]
    assert find_detection(hog(), revisions) is not None


def test_only_the_strongest_evidence_counts_where_that_is_asked_for() -> None:
    revisions = [
        Revision(anomaly(SWITCHES, BUSY, end=START + 1), START + 3),
        Revision(anomaly(BUSY, SWITCHES, end=START + 2, first_end=START + 1, revision=1), START + 4),
    ]
    found = find_detection(hog(), revisions, strongest=1)
    assert found is not None
    assert found.anomaly.revision == 1


def test_every_flagged_window_of_the_fault_is_a_verdict_about_it() -> None:
    ends = [START - 1, START + 1, START + 2, START + 3]
    revisions = [
        Revision(anomaly(evidence(BUSY, 40.0), end=end, first_end=ends[1], revision=number), end + 2)
        for number, end in enumerate(ends)
        if number
    ]
    assert [found.after_seconds for found in verdicts_about(hog(), revisions)] == [3.0, 4.0, 5.0]


def test_a_window_after_the_faults_end_does_not_count() -> None:
    late = Revision(anomaly(BUSY, end=START + 15), START + 17)
    assert find_detection(hog(ended_at=START + 10), [late]) is None
    assert find_detection(hog(ended_at=START + 10.5), [late]) is not None


def test_the_end_of_an_anomaly_is_no_detection() -> None:
    closed = anomaly(BUSY, end=START + 2, state=AnomalyState.CLOSED, revision=4)
    assert find_detection(hog(), [Revision(closed, START + 4)]) is None


@pytest.mark.parametrize(
    ("trouble", "one"),
    [
        (CPU_HOG, evidence("system.cpu.utilization{cpu.logical_number=1}")),
        (CPU_HOG, evidence("system.cpu.utilization{cpu.mode=idle}", -20.0)),
        (CPU_HOG, evidence("system.cpu.utilization", -20.0, "standard_deviation")),
        (
            CPU_HOG,
            evidence("system.linux.pressure.share{linux.pressure.resource=cpu,linux.pressure.stall=some}"),
        ),
        (MEMORY_LEAK, evidence("system.memory.usage{system.memory.state=used}", 9.0, 'linear_trend__attr_"slope"')),
        (MEMORY_LEAK, evidence("system.linux.memory.available", -9.0, 'linear_trend__attr_"slope"')),
        (MEMORY_LEAK, evidence("system.paging.faults")),
        (DISK_HAMMER, evidence("system.disk.io{disk.io.direction=write,system.device=vda}")),
        (DISK_HAMMER, evidence("system.cpu.utilization{cpu.mode=iowait}")),
        (NETWORK_COPY, evidence("system.network.tcp.segments{network.io.direction=transmit}")),
        (NETWORK_COPY, evidence("system.linux.softirqs{linux.softirq.type=net_rx}")),
    ],
)
def test_evidence_that_names_what_the_trouble_moves(trouble: Trouble, one: Evidence) -> None:
    assert trouble.family.named_in([evidence(SWITCHES, 50.0), one]) is one


@pytest.mark.parametrize(
    ("trouble", "one"),
    [
        (CPU_HOG, evidence("system.cpu.utilization", -27.0)),
        (CPU_HOG, evidence("system.cpu.utilization{cpu.mode=idle}", 27.0)),
        (CPU_HOG, evidence("system.cpu.utilization{cpu.mode=iowait}", 27.0)),
        (CPU_HOG, evidence("system.cpu.utilization", 4.9)),
        (CPU_HOG, evidence("system.cpu.utilization", None)),
        (MEMORY_LEAK, evidence("system.memory.usage{system.memory.state=free}", 8.0)),
        (DISK_HAMMER, evidence("system.disk.io{disk.io.direction=write}", -14.0)),
        (NETWORK_COPY, evidence("system.linux.softirqs{linux.softirq.type=timer}")),
    ],
)
def test_evidence_that_says_the_opposite_or_too_little(trouble: Trouble, one: Evidence) -> None:
    assert trouble.family.named_in([one]) is None
