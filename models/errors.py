"""Errors of what learns and scores. In each case the model that is live keeps scoring."""


class ModelError(Exception):
    """Root of all errors of `pulsetrain.models`."""


class AbsentColumnError(ModelError):
    """A column of the model is not among the features: the features stage and the model do not fit together."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        shown = ", ".join(columns[:5]) + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")
        super().__init__(f"the model needs columns that the features do not have: {shown}")
        self.columns = columns


class DegenerateTrainingSetError(ModelError):
    """The training windows say too little about what is normal: wait for more windows, then train again."""


class NothingLearnedError(ModelError):
    """A retraining would give the model that is already there: publish nothing."""


class NonFiniteInputError(ModelError):
    """NaN or infinity was about to enter a graph: a fault of the caller, which imputes first."""


class ModelRejectedError(ModelError):
    """A graph or a state is damaged, too large or not ours: keep the live version and report the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ParityError(ModelError):
    """The exported graph does not score like the float64 reference: do not publish it."""
