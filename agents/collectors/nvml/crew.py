"""Threads that ask one device after another, and as many more as there are devices whose driver hangs."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

AnswerT = TypeVar("AnswerT")

_PATIENCE_SECONDS = 0.02
"""Without an answer for so long, and with questions left, another thread takes over.

One thread does while nothing hangs: eight that work at once fight for the interpreter, which costs several times the
processor time, and each is memory.
"""


@dataclass(frozen=True, slots=True)
class Answers(Generic[AnswerT]):
    """`given`: what questions brought. `failed`: what they raised. `silent`: for how many seconds none has come."""

    given: dict[str, AnswerT] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    silent: dict[str, float] = field(default_factory=dict)


class Crew(Generic[AnswerT]):
    """Asks several devices. One that does not answer is not asked again until it has, so it never holds two threads.

    Used by one thread, except `close`.

    Args:
        name: of the threads.
        monotonic: seconds that only grow, for how long a device is silent.
    """

    def __init__(self, name: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._monotonic = monotonic
        self._asked_at: dict[str, float] = {}
        self._questions: SimpleQueue[tuple[str, Callable[[], AnswerT]] | None] = SimpleQueue()
        self._answers: SimpleQueue[_Answer[AnswerT]] = SimpleQueue()
        self._threads = 0
        self._closed = False

    @property
    def threads(self) -> int:
        """How many threads there are."""
        return self._threads

    def ask(self, questions: Mapping[str, Callable[[], AnswerT]], seconds: float) -> Answers[AnswerT]:
        """Put each question to its device and wait for the answers, at most `seconds`.

        Nobody waits for a device that has been silent since an earlier call; its late answer is thrown away.

        Raises:
            RuntimeError: the system has no thread for it now; what was asked counts as silent.
        """
        self._take_late_answers()
        now, silent = self._monotonic(), len(self._asked_at)
        awaited = {key for key in questions if key not in self._asked_at}
        for key in awaited:
            self._asked_at[key] = now
        for key in questions:
            if key in awaited:
                self._questions.put((key, questions[key]))
        if self._questions.qsize() and self._threads <= silent:
            self._start_thread()
        answers: Answers[AnswerT] = Answers()
        self._wait(awaited, time.monotonic() + seconds, answers)
        now = self._monotonic()
        answers.silent.update((key, now - self._asked_at[key]) for key in questions if key in self._asked_at)
        self._dismiss_idle_threads()
        return answers

    def close(self) -> None:
        """Let every thread end that isn't hanging; those that are end with the process."""
        self._closed = True
        for _ in range(self._threads):
            self._questions.put(None)

    def _wait(self, awaited: set[str], until: float, answers: Answers[AnswerT]) -> None:
        while awaited and not self._closed:
            left = until - time.monotonic()
            try:
                answer = self._answers.get(timeout=min(max(left, 0.0), _PATIENCE_SECONDS))
            except Empty:
                if left <= 0:
                    return
                if self._questions.qsize():
                    self._start_thread()
                continue
            self._asked_at.pop(answer.key, None)
            if answer.key not in awaited:
                continue
            awaited.discard(answer.key)
            if answer.error is not None:
                answers.failed[answer.key] = answer.error
            else:
                answers.given[answer.key] = answer.values[0]

    def _take_late_answers(self) -> None:
        while True:
            try:
                self._asked_at.pop(self._answers.get_nowait().key, None)
            except Empty:
                return

    def _start_thread(self) -> None:
        threading.Thread(target=self._run, name=f"{self._name}-{self._threads + 1}", daemon=True).start()
        self._threads += 1

    def _dismiss_idle_threads(self) -> None:
        # Whoever is silent holds a thread; one more is kept for the next questions.
        while self._threads > len(self._asked_at) + 1:
            self._threads -= 1
            self._questions.put(None)

    def _run(self) -> None:
        while (question := self._questions.get()) is not None:
            key, ask = question
            try:
                answer = _Answer(key, (ask(),))
            except Exception as error:
                answer = _Answer(key, error=error)
            self._answers.put(answer)


@dataclass(frozen=True, slots=True)
class _Answer(Generic[AnswerT]):
    key: str
    values: tuple[AnswerT, ...] = ()
    error: Exception | None = None
