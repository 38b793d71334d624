"""Callbacks, driven in the order in which the trainers call them; their base classes are stand-ins."""

import pickle
import sys
import types
from typing import Any

import pytest

from pulsetrain.agents.hook import TrainingProbe
from pulsetrain.agents.hook.huggingface import trainer_callback
from pulsetrain.agents.hook.lightning import lightning_callback
from pulsetrain.agents.hook.pytorch import step_with
from tests.unit.agents.hook.fakes import NS, Clock, Recorder


class Base:
    """Answers every event that the adapter does not know."""

    def on_epoch_begin(self, *arguments: object, **named: object) -> str:
        return "the trainer's own"


class Loop:
    """A probe whose clock the test moves."""

    def __init__(self) -> None:
        self.clock = Clock(NS)
        self.sent = Recorder()
        self.probe = TrainingProbe("llm", 0, outlet=self.sent, monotonic_ns=self.clock)

    def pass_seconds(self, seconds: float) -> None:
        self.clock.now_ns += round(seconds * NS)


@pytest.fixture
def transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", types.SimpleNamespace(TrainerCallback=Base))


@pytest.fixture
def lightning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", types.SimpleNamespace(Callback=Base))


@pytest.mark.usefixtures("transformers")
def test_a_hugging_face_trainer_tells_steps_waits_and_what_it_logs() -> None:
    loop = Loop()
    callback = trainer_callback(loop.probe)
    callback.on_train_begin(None, None, None)
    for logs in ({"loss": 2.5, "grad_norm": 1.5, "learning_rate": 1e-4}, {"eval_loss": 9.0}, None):
        loop.pass_seconds(0.25)
        callback.on_step_begin(None, None, None)
        loop.pass_seconds(1)
        callback.on_step_end(None, None, None)
        if logs is not None:
            loop.pass_seconds(10)
            callback.on_log(None, None, None, logs=logs)
    loop.pass_seconds(60)
    callback.on_save(None, None, None)
    loop.pass_seconds(600)
    callback.on_evaluate(None, None, None)
    loop.pass_seconds(0.5)
    callback.on_step_begin(None, None, None)
    callback.on_step_end(None, None, None)
    callback.on_train_end(None, None, None)
    assert [step[2:4] for step in loop.sent.steps] == [
        [None, NS // 4],
        [45 * NS // 4, NS // 4],
        [45 * NS // 4, NS // 4],
        [NS // 2, NS // 2],
    ]
    assert loop.sent.values == [[2, None, 2.5, 1.5, None, 0]]


@pytest.mark.usefixtures("lightning")
def test_a_lightning_trainer_tells_optimizer_steps_and_the_loss_of_their_last_batch() -> None:
    loop = Loop()
    callback = lightning_callback(loop.probe)
    trainer = types.SimpleNamespace(global_step=0)
    callback.on_train_start(trainer, None)
    for batch, (steps, outputs) in enumerate([(0, {"loss": 4.0}), (1, {"loss": 3.0}), (1, None), (2, 2.0)]):
        loop.pass_seconds(0.25)
        callback.on_train_batch_start(trainer, None, None, batch)
        loop.pass_seconds(1)
        trainer.global_step = steps
        callback.on_train_batch_end(trainer, None, outputs, None, batch)
    loop.pass_seconds(600)
    callback.on_validation_end(trainer, None)
    callback.on_exception(trainer, None, KeyboardInterrupt())
    assert [step[2] for step in loop.sent.steps] == [None, 5 * NS // 2]
    assert loop.sent.losses == {1: 3.0, 2: 2.0}


@pytest.mark.usefixtures("transformers", "lightning")
def test_a_second_training_with_the_same_callback_is_told_too() -> None:
    trainer = types.SimpleNamespace(global_step=0)
    hugging, lightning = Loop(), Loop()
    one, other = trainer_callback(hugging.probe), lightning_callback(lightning.probe)
    for _ in range(2):
        one.on_train_begin(None, None, None)
        one.on_step_end(None, None, None)
        one.on_log(None, None, None, logs={"loss": 1.0})
        one.on_train_end(None, None, None)
        other.on_train_start(trainer, None)
        trainer.global_step += 1
        other.on_train_batch_end(trainer, None, 2.0, None, 0)
        other.on_train_end(trainer, None)
    assert [step[1:3] for step in hugging.sent.steps] == [[1, None]] * 2
    assert hugging.sent.values == []
    assert [values[2] for values in lightning.sent.values] == [2.0, 2.0]


@pytest.mark.usefixtures("transformers", "lightning")
@pytest.mark.parametrize("factory", [trainer_callback, lightning_callback])
def test_a_callback_keeps_the_trainers_other_events_and_can_be_sent_to_another_process(factory: Any) -> None:
    callback = pickle.loads(pickle.dumps(factory(TrainingProbe("llm", 3))))  # noqa: S301 - our own bytes
    assert callback.on_epoch_begin() == "the trainer's own"


@pytest.mark.parametrize("factory", [trainer_callback, lightning_callback])
def test_a_callback_for_a_trainer_that_is_not_installed_is_an_import_error(
    factory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("transformers", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError):
        factory()


def test_an_optimizers_step_is_a_training_step() -> None:
    loop = Loop()
    hooks: list[Any] = []
    optimizer = types.SimpleNamespace(register_step_post_hook=hooks.append)
    step_with(loop.probe, optimizer)
    hooks[0](optimizer, (), {})
    loop.probe.close()
    assert len(loop.sent.steps) == 1


def test_an_optimizer_that_takes_no_hook_costs_an_error_and_no_more() -> None:
    loop = Loop()
    assert step_with(loop.probe, object()) is None
    assert loop.probe.errors == 1
