"""One rank of a small training run on CPU; runs in an environment with PyTorch, where the project is only linked.

    python train.py RANK WORLD_SIZE RENDEZVOUS_FILE

Trains the same model from the same seed once a variant, and prints a line of JSON for each: losses (exact, in
hexadecimal), and what the probe counted. What a variant does differently is only what it hands to the probe.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from statistics import median
from typing import Any, NoReturn

from pulsetrain.agents.hook import TrainingProbe
from pulsetrain.agents.hook.channel import Channel
from pulsetrain.agents.hook.pytorch import time_all_reduces

# Where types are checked there is no PyTorch.
torch: Any = import_module("torch")
distributed: Any = import_module("torch.distributed")

STEPS = 10
BATCH, FEATURES, HIDDEN = 16, 32, 64
OVERHEAD_ROUNDS = 300

Handed = Callable[[int, Any, Any], dict[str, object]]
"""What a variant hands to the probe in a step: from the step's number, loss and gradient norm."""


class ReducingMetric:
    """Reads as a number, after a collective that other ranks don't take part in."""

    def compute(self) -> float:
        value = torch.ones(1)
        distributed.all_reduce(value)
        return float(value)

    __float__ = item = __call__ = compute


class RaisingMetric:
    """Reads as nothing at all."""

    def compute(self) -> NoReturn:
        raise RuntimeError("the metric is broken")

    __float__ = item = __call__ = compute


class BrokenChannel(Channel):
    """Fails inside the hook."""

    def is_open(self, now_ns: int) -> bool:
        return True

    def send(self, message: bytes) -> NoReturn:
        raise RuntimeError("the hook is broken")


def plain(step: int, loss: Any, norm: Any) -> dict[str, object]:
    return {"loss": loss, "grad_norm": norm, "scale": 1024.0}


def loss_of(value: object, only_rank: int | None = None) -> Handed:
    """The loss is replaced by `value` in steps 3 and 7, on one rank or on all."""

    def handed(step: int, loss: Any, norm: Any) -> dict[str, object]:
        is_replaced = step in (3, 7) and only_rank in (None, distributed.get_rank())
        return {"loss": value if is_replaced else loss, "grad_norm": norm}

    return handed


def to_agent(job: str) -> TrainingProbe:
    return TrainingProbe(job)


def to_nobody(job: str) -> TrainingProbe:
    return TrainingProbe(job, outlet=Channel(["/nonexistent/hook.sock"]))


def broken(job: str) -> TrainingProbe:
    return TrainingProbe(job, outlet=BrokenChannel([]))


VARIANTS: dict[str, tuple[Callable[[str], TrainingProbe], Handed]] = {
    "probe": (to_agent, plain),
    "no_agent": (to_nobody, plain),
    "broken_hook": (broken, plain),
    "nan_loss": (to_agent, loss_of(math.nan)),
    "infinite_loss": (to_agent, loss_of(torch.tensor(math.inf))),
    "reducing_metric": (to_agent, loss_of(ReducingMetric(), only_rank=0)),
    "raising_metric": (to_agent, loss_of(RaisingMetric())),
}


class Trainer:
    """A model in DistributedDataParallel, and batches that differ by rank; the same for the same seed."""

    def __init__(self, workers: int = 0) -> None:
        torch.manual_seed(1)
        layers = [torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1)]
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.001)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        random = torch.Generator().manual_seed(100 + distributed.get_rank())
        inputs = torch.randn(STEPS * BATCH, FEATURES, generator=random)
        data = torch.utils.data.TensorDataset(inputs, inputs.sum(dim=1, keepdim=True).sin())
        self.loader = torch.utils.data.DataLoader(data, batch_size=BATCH, num_workers=workers)

    def step(self, batch: list[Any]) -> tuple[Any, Any]:
        """Loss and gradient norm."""
        inputs, targets = batch
        self.optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        return loss, norm


def without_probe() -> dict[str, Any]:
    trainer = Trainer()
    return {"variant": "without_probe", "losses": [trainer.step(batch)[0].item().hex() for batch in trainer.loader]}


def with_probe(variant: str, workers: int = 0) -> dict[str, Any]:
    make_probe, handed = VARIANTS["probe" if workers else variant]
    trainer, losses = Trainer(workers), []
    with make_probe(variant) as probe:
        time_all_reduces(probe, trainer.model)
        for number, batch in enumerate(probe.batches(trainer.loader)):
            loss, norm = trainer.step(batch)
            probe.step(**handed(number, loss, norm))
            losses.append(loss.item().hex())
    return {"variant": variant, "losses": losses, "errors": probe.errors, "dropped": probe.dropped_steps}


def overhead() -> dict[str, Any]:
    """CPU time of steps without and with a probe in turns, and of the hook's own part of them, in microseconds.

    The clock itself takes a microsecond or two, which the hook's part is cleared of.
    """
    trainer = Trainer()
    batches = list(trainer.loader)
    without, with_it, hook, clock = [], [], [], []
    with ExitStack() as stack:
        probe = stack.enter_context(TrainingProbe("overhead"))
        timed = probe.batches(endless(batches))
        for number in range(OVERHEAD_ROUNDS):
            begin = time.thread_time_ns()
            trainer.step(batches[number % STEPS])
            without.append(time.thread_time_ns() - begin)
            begin = time.thread_time_ns()
            batch = next(timed)
            between = time.thread_time_ns()
            loss, norm = trainer.step(batch)
            after = time.thread_time_ns()
            probe.step(loss=loss, grad_norm=norm, scale=1024.0)
            end = time.thread_time_ns()
            with_it.append(end - begin)
            hook.append(between - begin + end - after)
            begin = time.thread_time_ns()
            clock.append(time.thread_time_ns() - begin)
    return {
        "variant": "overhead",
        "step_us_without_hook": median(without) / 1000,
        "step_us_with_hook": median(with_it) / 1000,
        "hook_us": (median(hook) - 2 * median(clock)) / 1000,
    }


def endless(batches: list[Any]) -> Iterable[Any]:
    def forever() -> Iterator[Any]:
        while True:
            yield from batches

    return forever()


def main() -> None:
    rank, world_size, rendezvous = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world_size)
    runs: list[Callable[[], dict[str, Any]]] = [without_probe]
    runs += [lambda variant=variant: with_probe(variant) for variant in VARIANTS]  # type: ignore[misc]
    runs += [lambda: with_probe("forked_loader", workers=2), overhead]
    for run in runs:
        print(json.dumps(run() | {"rank": rank}), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    # Ranks of one machine talk over the loopback interface.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()
