"""The probe that a training loop holds."""

import logging
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Protocol, TypeVar

from pulsetrain.agents.hook.channel import Channel
from pulsetrain.agents.hook.cuda import CudaReader, Snapshot, Timing, allocator_retries, cuda_in_use
from pulsetrain.agents.hook.identity import host_and_parent, identify, torch_rank
from pulsetrain.agents.hook.message import MAX_STEPS, Sender, StepRow, Totals, encode
from pulsetrain.agents.hook.pending import PendingValues, Values
from pulsetrain.agents.hook.sections import DeviceTimer, HostTimer, Section
from pulsetrain.agents.hook.socket_paths import paths_to_try
from pulsetrain.agents.hook.values import OnDevice, read

_LOG = logging.getLogger("pulsetrain.hook")

_SEND_EVERY_NS = 1_000_000_000

ItemT = TypeVar("ItemT")


class Outlet(Protocol):
    """Where messages go; `Channel` has the meaning of its methods."""

    def is_open(self, now_ns: int) -> bool: ...

    def send(self, message: bytes) -> bool: ...

    def close(self) -> None: ...


class TrainingProbe:
    """Tells the node agent about the steps of one rank.

        with TrainingProbe(job="llm-7b") as probe:
            for batch in probe.batches(loader):
                ...
                probe.step(loss=loss, grad_norm=norm, scale=scaler)

    Nothing here raises, waits for a device or another process, or calls a collective. Values that are not numbers are
    not touched, and counted as errors; one line in the log says which trouble came first. Without an agent steps are
    dropped and counted. In a forked child, as a data loader's worker is, the probe is silent for ever. To be used from
    one thread.

    Args:
        job: the job's name; by default PULSETRAIN_JOB, SLURM_JOB_ID, JOB_NAME or TORCHELASTIC_RUN_ID, and in the end
            the host's name with the launcher's process id.
        rank: by default that of PyTorch's process group, else RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK,
            else 0.
        outlet: where messages go; the agent's socket by default.
        monotonic_ns, time_ns: a clock that is never set, and the wall clock.
    """

    def __init__(
        self,
        job: str | None = None,
        rank: int | None = None,
        *,
        outlet: Outlet | None = None,
        monotonic_ns: Callable[[], int] = time.perf_counter_ns,
        time_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._named = job, rank
        self._outlet = Channel(paths_to_try(os.environ)) if outlet is None else outlet
        self._monotonic_ns = monotonic_ns
        self._time_ns = time_ns
        self._sender: Sender | None = None
        self._is_silent = self._has_ended = False
        self._has_complained = False
        self._errors = 0
        self._dropped = 0
        self._steps: list[StepRow] = []
        self._values = PendingValues(self._give_back, self._failed)
        self._number = 0
        self._step_end_ns: int | None = None
        self._sent_at_ns = 0
        self._cuda: CudaReader | None = None
        self._has_tried_cuda = False
        self._wait_timer = HostTimer(monotonic_ns)
        self._reduce_timer = DeviceTimer(self._cuda_reader, HostTimer(monotonic_ns))
        self._data_wait = Section(self._failed)
        self._all_reduce = Section(self._failed)
        _PROBES.add(self)

    def open(self) -> "TrainingProbe":
        """Begin, after an end too; `with` and the first `step` of all do so by themselves."""
        if self._sender is None and not self._is_silent:
            try:
                self._open()
            except Exception as error:
                self._failed(error)
                self._silence()
        return self

    def close(self) -> None:
        """Send what is left and end; values that have not arrived from the device are not waited for."""
        if self._sender is not None and not self._is_silent:
            try:
                self._send(self._sender, self._monotonic_ns(), closing=True)
            except Exception as error:
                self._failed(error)
        self._sender, self._has_ended = None, True
        self._stop()

    def __enter__(self) -> "TrainingProbe":
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def step(self, loss: object = None, grad_norm: object = None, scale: object = None, **unknown: object) -> None:
        """A training step is over.

        Args:
            loss: a number or a tensor of one element; one on a CUDA device is read a few steps later.
            grad_norm: likewise, the norm of all gradients before clipping.
            scale: likewise, or the `torch.amp.GradScaler` itself.
            unknown: refused, and counted as errors.
        """
        if self._is_silent or self._has_ended:
            return
        try:
            if self._sender is None:
                self.open()
            if self._sender is not None:
                for name in unknown:
                    self._failed(TypeError(f"step() knows no {name!r}"))
                self._take_step(self._sender, (loss, grad_norm, scale))
        except Exception as error:
            self._failed(error)

    @property
    def errors(self) -> int:
        """How many values and calls could not be used."""
        return self._errors

    @property
    def dropped_steps(self) -> int:
        """How many steps no agent took."""
        return self._dropped

    def data_wait(self) -> Section:
        """`with probe.data_wait():` around what waits for the next batch; measured on the host, which is what waits."""
        return self._data_wait

    def all_reduce(self) -> Section:
        """`with probe.all_reduce():` around collectives; measured on the CUDA device where one is in use."""
        return self._all_reduce

    def batches(self, loader: Iterable[ItemT]) -> Iterator[ItemT]:
        """The batches of a loader, the waits for them timed."""
        with self._data_wait:
            iterator = iter(loader)
        while True:
            try:
                with self._data_wait:
                    batch = next(iterator)
            except StopIteration:
                return
            yield batch

    def leave_out(self) -> None:
        """What has passed since the last step, an evaluation say, belongs to no step."""
        self._step_end_ns = None if self._step_end_ns is None else self._monotonic_ns()
        self._forget_parts()

    def count_error(self, error: Exception) -> None:
        """Count what an adapter could not do."""
        self._failed(error)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy in another process, as launchers make of callbacks, begins anew there."""
        return TrainingProbe, self._named

    def _open(self) -> None:
        identity = identify(*self._named, os.environ, torch_rank, host_and_parent)
        self._sender, self._has_ended = Sender(identity, os.urandom(8).hex()), False
        self._sent_at_ns = self._monotonic_ns()
        self._number, self._step_end_ns = 0, None
        self._forget_parts()
        self._data_wait.timer = self._wait_timer
        self._all_reduce.timer = self._reduce_timer
        self._cuda_reader()

    def _forget_parts(self) -> None:
        """Drop what was timed since the last step."""
        self._wait_timer.take()
        for timing in self._reduce_timer.take()[1]:
            self._give_back(timing)

    def _take_step(self, sender: Sender, given: tuple[object, object, object]) -> None:
        if self._cuda is not None and self._cuda.is_capturing():
            return
        now_ns = self._monotonic_ns()
        duration_ns = None if self._step_end_ns is None else now_ns - self._step_end_ns
        self._step_end_ns = now_ns
        self._number += 1
        self._steps.append((self._time_ns(), self._number, duration_ns, self._wait_timer.take()))
        self._values.append(self._read_values(given))
        is_full = len(self._steps) >= MAX_STEPS or self._values.is_full
        if is_full or now_ns - self._sent_at_ns >= _SEND_EVERY_NS:
            self._send(sender, now_ns)

    def _read_values(self, given: tuple[object, object, object]) -> Values:
        numbers: list[float | None] = []
        on_device: dict[int, OnDevice] | None = None
        for value in given:
            number = None
            try:
                number = read(value)
            except Exception as error:
                self._failed(error)
            if isinstance(number, OnDevice):
                on_device = on_device or {}
                on_device[len(numbers)], number = number, None
            numbers.append(number)
        all_reduce_ns, timings = self._reduce_timer.take()
        values = Values(self._number, all_reduce_ns, numbers, timings=timings)
        if on_device:
            try:
                if (reader := self._cuda_reader()) is None:
                    raise RuntimeError("nothing can read from the CUDA device")
                values.snapshot = reader.snapshot(on_device)
            except Exception as error:
                self._failed(error)
        return values

    def _send(self, sender: Sender, now_ns: int, closing: bool = False) -> None:
        self._sent_at_ns = now_ns
        steps, self._steps = self._steps, []
        sent = False
        try:
            values = self._values.take(everything=closing)
            if self._outlet.is_open(now_ns):
                retries = self._retries()
                totals = Totals(self._errors, self._dropped, retries)
                message = encode(sender, self._time_ns(), totals, steps, values, closing)
                sent = self._outlet.send(message)
        finally:
            if steps and not sent:
                self._dropped += len(steps)
                self._complain("no agent takes the steps: they are dropped until one does")

    def _retries(self) -> int | None:
        try:
            return allocator_retries()
        except Exception as error:
            self._failed(error)
            return None

    def _cuda_reader(self) -> CudaReader | None:
        """What reads from the device in use; None where none is, or none could be made."""
        if not self._has_tried_cuda:
            try:
                torch = cuda_in_use()
                if torch is not None and not torch.cuda.is_current_stream_capturing():
                    self._has_tried_cuda = True
                    self._cuda = CudaReader(torch, torch.cuda.current_device())
            except Exception as error:
                self._has_tried_cuda = True
                self._failed(error)
        return self._cuda

    def _give_back(self, used: Snapshot | Timing) -> None:
        if self._cuda is not None:
            self._cuda.give_back(used)

    def _failed(self, error: Exception) -> None:
        self._errors += 1
        self._complain(error)

    def _complain(self, trouble: Exception | str) -> None:
        if not self._has_complained:
            self._has_complained = True
            try:
                text = trouble if isinstance(trouble, str) else f"{type(trouble).__name__}: {trouble}"
                _LOG.warning("Pulsetrain's hook met a first trouble, training goes on, more is only counted: %s", text)
            except Exception:  # the error's text or a handler of the user's may raise
                self._errors += 1

    def _silence(self) -> None:
        """Say nothing more. What is held is kept: letting pinned memory go calls the driver, which a child has not."""
        self._is_silent = True
        self._stop()

    def _stop(self) -> None:
        self._data_wait.timer = self._all_reduce.timer = None
        self._outlet.close()


_PROBES: weakref.WeakSet[TrainingProbe] = weakref.WeakSet()


def _silence_all() -> None:
    """In a forked child: it is not the rank, and the CUDA driver can't be used there."""
    for probe in list(_PROBES):
        probe._silence()


os.register_at_fork(after_in_child=_silence_all)
