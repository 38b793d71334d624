"""A callback for the Trainer of Hugging Face's transformers."""

from importlib import import_module
from typing import Any

from pulsetrain.agents.hook.probe import TrainingProbe


def trainer_callback(probe: TrainingProbe | None = None) -> Any:
    """A `TrainerCallback` that tells a probe of each optimizer step: `Trainer(..., callbacks=[trainer_callback()])`.

    Loss and gradient norm are those that the Trainer logs (`logging_steps`) and so has read from the device; they go
    with the step after. What passes between two steps, after logging, evaluating and saving, is taken for a wait for
    data.

    Args:
        probe: one with a job's name, say; by default all names come from the environment.

    Raises:
        ImportError: transformers is not installed.
    """
    base = import_module("transformers").TrainerCallback
    return type("PulsetrainCallback", (_TrainerEvents, base), {})(TrainingProbe() if probe is None else probe)


class _TrainerEvents:
    """The Trainer's events; none raises, as the probe does not."""

    def __init__(self, probe: TrainingProbe) -> None:
        self._probe = probe
        self._wait = probe.data_wait()
        self._logged: dict[str, Any] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._probe.open()
        self._logged = {}
        self._wait.begin()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._wait.end()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        logged, self._logged = self._logged, {}
        self._probe.step(loss=logged.get("loss"), grad_norm=logged.get("grad_norm"))
        self._wait.begin()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if isinstance(logs, dict) and "loss" in logs:
            self._logged = logs
        self._wait.begin()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._wait.begin()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._probe.leave_out()
        self._wait.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._probe.close()

    def __reduce__(self) -> tuple[object, ...]:
        return trainer_callback, (self._probe,)
