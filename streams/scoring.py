"""One window against one version of a model: assembled by name, scored, and explained."""

import numpy as np

from pulsetrain.models.detectors import VOTES_NEEDED, Member
from pulsetrain.models.errors import AbsentColumnError
from pulsetrain.models.evidence import top_deviations
from pulsetrain.models.preparation import Assembly, plan_assembly
from pulsetrain.models.runtime import Scorer
from pulsetrain.schemas.anomaly import Evidence, Model, Vote
from pulsetrain.schemas.columns import column_names
from pulsetrain.schemas.feature_window import FeatureWindow
from pulsetrain.schemas.model_release import ModelManifest
from pulsetrain.streams.verdicts import Judgement

_CACHED_LAYOUTS = 64


class WindowScorer:
    """Scores windows with one loaded version; a layout of columns is matched by name once and remembered."""

    def __init__(self, manifest: ModelManifest, scorer: Scorer) -> None:
        self._model = Model(name=manifest.name, version=manifest.version)
        self._medians = manifest.medians
        self._scorer = scorer
        self._assemblies: dict[tuple[str, ...], Assembly | str] = {}

    def judge(self, window: FeatureWindow) -> Judgement | str:
        """The verdict, or the reason why the window has none."""
        assembly = self._assembly(column_names(window.metrics, window.features))
        if isinstance(assembly, str):
            return assembly
        assembled = assembly.assemble(window.values.reshape(1, -1))
        refused = assembled.not_scored(0)
        if refused is not None:
            return f"{refused.value}: {assembled.missing_share[0]:.0%} of the model's columns"
        result = self._scorer.score(assembled.rows)
        deviations = top_deviations(
            self._scorer.columns, assembled.rows[0], result.deviations[0], self._scorer.expected
        )
        cuts = self._scorer.cuts
        return Judgement(
            flagged=bool(result.flagged[0]),
            benign=bool(result.benign[0]),
            score=float(np.sort(result.scores[0] / cuts)[-VOTES_NEEDED]),
            votes=tuple(
                Vote(
                    detector=member.value,
                    score=float(result.scores[0, index]),
                    threshold=float(cuts[index]),
                    flagged=bool(result.votes[0, index]),
                )
                for index, member in enumerate(Member)
            ),
            evidence=tuple(
                Evidence(
                    metric=found.metric,
                    feature=found.feature,
                    value=found.value,
                    expected=found.expected,
                    deviation_sigma=found.sigma,
                )
                for found in deviations
            ),
            model=self._model,
            imputed_columns=int(assembled.imputed[0].sum()),
        )

    def _assembly(self, names: tuple[str, ...]) -> Assembly | str:
        assembly = self._assemblies.get(names)
        if assembly is None:
            try:
                assembly = plan_assembly(self._scorer.columns, self._medians, names)
            except AbsentColumnError as error:
                assembly = f"absent_column: {error}"
            if len(self._assemblies) >= _CACHED_LAYOUTS:
                self._assemblies.clear()
            self._assemblies[names] = assembly
        return assembly
