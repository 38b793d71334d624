"""A thread for each device, so that one whose driver hangs keeps nobody waiting."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class Answers(Generic[AnswerT]):
    """`given`: what questions brought. `failed`: what they raised. `silent`: for how many seconds none has come."""

    given: dict[str, AnswerT] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    silent: dict[str, float] = field(default_factory=dict)


class Crew(Generic[AnswerT]):
    """Asks several at once. Who does not answer is not asked again until it has, so there is never a second thread.

    Used by one thread, except `close`.

    Args:
        name: of the threads.
        monotonic: seconds that only grow.
    """

    def __init__(self, name: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._monotonic = monotonic
        self._members: dict[str, _Member[AnswerT]] = {}
        self._answers: SimpleQueue[_Answer[AnswerT]] = SimpleQueue()

    def ask(self, questions: Mapping[str, Callable[[], AnswerT]], seconds: float) -> Answers[AnswerT]:
        """Put each question to its member and wait for the answers, at most `seconds`.

        Nobody waits for a member that has been silent since an earlier call; its late answer is thrown away.
        """
        self._take_late_answers()
        self._dismiss_all_but(questions)
        asked_at, awaited = self._monotonic(), set()
        for key, question in questions.items():
            member = self._members.get(key)
            if member is None:
                member = self._members[key] = _Member(f"{self._name}-{len(self._members)}", key, self._answers)
            if member.asked_at is None:
                member.asked_at = asked_at
                member.questions.put(question)
                awaited.add(key)
        answers: Answers[AnswerT] = Answers()
        until = asked_at + seconds
        while awaited:
            try:
                answer = self._answers.get(timeout=max(until - self._monotonic(), 0.0))
            except Empty:
                break
            self._members[answer.key].asked_at = None
            if answer.key not in awaited:
                continue
            awaited.discard(answer.key)
            if answer.error is not None:
                answers.failed[answer.key] = answer.error
            else:
                answers.given[answer.key] = answer.values[0]
        now = self._monotonic()
        for key in questions:
            since = self._members[key].asked_at
            if since is not None:
                answers.silent[key] = now - since
        return answers

    def close(self) -> None:
        """Let every thread end that isn't hanging; those that are end with the process."""
        for member in list(self._members.values()):
            member.questions.put(None)

    def _take_late_answers(self) -> None:
        while True:
            try:
                answer = self._answers.get_nowait()
            except Empty:
                return
            self._members[answer.key].asked_at = None

    def _dismiss_all_but(self, questions: Mapping[str, object]) -> None:
        for key in [key for key, member in self._members.items() if key not in questions and member.asked_at is None]:
            self._members.pop(key).questions.put(None)


@dataclass(frozen=True, slots=True)
class _Answer(Generic[AnswerT]):
    key: str
    values: tuple[AnswerT, ...] = ()
    error: Exception | None = None


class _Member(Generic[AnswerT]):
    def __init__(self, name: str, key: str, answers: "SimpleQueue[_Answer[AnswerT]]") -> None:
        self.questions: SimpleQueue[Callable[[], AnswerT] | None] = SimpleQueue()
        self.asked_at: float | None = None
        self._key = key
        self._answers = answers
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        while (question := self.questions.get()) is not None:
            try:
                answer = _Answer(self._key, (question(),))
            except Exception as error:
                answer = _Answer(self._key, error=error)
            self._answers.put(answer)
