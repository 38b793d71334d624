"""How metrics, deviations and verdicts are put into words."""

import re

from pulsetrain.cli.demo.detection import Detection
from pulsetrain.cli.rendering import printable
from pulsetrain.schemas.anomaly import Anomaly, AnomalyState, Evidence

_ATTRIBUTE_KEY = re.compile(r"(?<=[{,])[^{,=}]*=")


def metric_text(metric: str) -> str:
    """A metric id as short as people need it: `disk.io{write,vda}`."""
    return printable(_ATTRIBUTE_KEY.sub("", metric.removeprefix("system.")))


def sigma_text(sigma: float | None) -> str:
    """A deviation as people say it: `+4.2 σ`, `+1,240 σ`."""
    if sigma is None:
        return "missing"
    return f"{sigma:+,.0f} σ" if abs(sigma) >= 10 else f"{sigma:+.1f} σ"


def evidence_text(evidence: Evidence) -> str:
    """`disk.io{write} +1,240 σ`."""
    return f"{metric_text(evidence.metric)} {sigma_text(evidence.deviation_sigma)}"


def verdict_text(anomaly: Anomaly) -> str:
    """One line of a verdict: its score and the strongest deviations, or its end."""
    if anomaly.state is AnomalyState.CLOSED:
        return f"the anomaly is over, {anomaly.flagged_windows} windows were flagged"
    shown = ", ".join(evidence_text(one) for one in anomaly.evidence[:3])
    return f"anomaly, score {anomaly.score or 0:.1f}: {shown}"


def detection_text(found: Detection) -> str:
    """The evidence that names the trouble, and on a second line the strongest of the other."""
    others = [one for one in found.anomaly.evidence if one is not found.evidence]
    return "\n".join(evidence_text(one) for one in [found.evidence, *others[:1]])


def duration_text(seconds: float) -> str:
    """Minutes and seconds: `3:07`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
