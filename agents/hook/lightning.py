"""A callback for Lightning's Trainer."""

from importlib import import_module
from typing import Any

from pulsetrain.agents.hook.probe import TrainingProbe


def lightning_callback(probe: TrainingProbe | None = None) -> Any:
    """A `Callback` that tells a probe of each optimizer step: `Trainer(callbacks=[lightning_callback()])`.

    The loss is that of the step's last batch as Lightning hands it over, divided by `accumulate_grad_batches`. What
    passes between two batches outside of validation is taken for a wait for data.

    Args:
        probe: one with a job's name, say; by default all names come from the environment.

    Raises:
        ImportError: neither lightning nor pytorch_lightning is installed.
    """
    try:
        base = import_module("lightning.pytorch").Callback
    except ImportError:
        base = import_module("pytorch_lightning").Callback
    return type("PulsetrainCallback", (_LightningEvents, base), {})(TrainingProbe() if probe is None else probe)


class _LightningEvents:
    """The Trainer's events; none raises, as the probe does not."""

    def __init__(self, probe: TrainingProbe) -> None:
        self._probe = probe
        self._wait = probe.data_wait()
        self._optimizer_steps: int | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._optimizer_steps = trainer.global_step
        self._probe.open()
        self._wait.begin()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._wait.end()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        # Several batches may accumulate gradients for one step of the optimizer.
        if trainer.global_step != self._optimizer_steps:
            self._optimizer_steps = trainer.global_step
            self._probe.step(loss=outputs.get("loss") if isinstance(outputs, dict) else outputs)
        self._wait.begin()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._probe.leave_out()
        self._wait.begin()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._probe.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._probe.close()

    def __reduce__(self) -> tuple[object, ...]:
        return lightning_callback, (self._probe,)
