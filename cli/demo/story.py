"""What the demo does, in its order: each step waits for an event, with a bound, and says what it waits for.

The story starts loads and sends labels through `Hands`, and sees what comes of it in `Observations`. It is a
generator of `Wait`s, so that a test runs it with a clock and events of the test's own.
"""

import itertools
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

from pulsetrain.cli.demo.chapters import Chapter, ChapterState
from pulsetrain.cli.demo.detection import Detection, Injection, verdicts_about
from pulsetrain.cli.demo.journal import Journal, Tone
from pulsetrain.cli.demo.observations import Observations, Shown
from pulsetrain.cli.demo.timing import (
    CLOSE_SECONDS,
    DETECT_SECONDS,
    EXCUSED_SECONDS,
    FIRST_MODEL_SECONDS,
    FIRST_WINDOW_SECONDS,
    LAST_BEGIN_SECONDS,
    LAST_END_SECONDS,
    QUIET_SECONDS,
    RETRAIN_SECONDS,
    SHOWN_SECONDS,
    TAUGHT_SECONDS,
    WARM_UP_SECONDS,
    WORKERS_SECONDS,
)
from pulsetrain.cli.demo.troubles import CPU_HOG, DISK_HAMMER, MEMORY_LEAK, NETWORK_COPY, Trouble

STAGES = frozenset({"features", "detect", "learn"})
BUSY_SHARE = 0.5
ATTEMPTS = 2
RECURRENCE_ATTEMPTS = 3
EXCUSED_WINDOWS = 6
FLAGGED_WINDOWS = 3
"""The job is excused if so many windows of it are before so many were flagged; the last of six are full of it. On a
machine with other work, a single window may be flagged for that."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that must become true, at most so many seconds from now; `progress` 0 to 1 where it is known."""

    what: str
    until: Callable[[], bool]
    seconds: float
    progress: Callable[[], float] | None = None


Waits = Generator[Wait, bool, None]
"""The one who drives sends back whether the wait came true."""


class Hands(Protocol):
    """What the story does to the world."""

    def start_agent(self) -> None:
        """Lets an agent read this machine, and a small training job work on it."""

    def start(self, trouble: Trouble) -> None:
        """Puts a load on this machine."""

    def stop(self, trouble: Trouble) -> None:
        """Takes it away."""

    def label_false_positive(self, anomaly_id: str) -> None:
        """Sends a label, as an operator does."""


class NotClosedError(Exception):
    """The loop can't go on; the message says in one sentence why."""


class Story:
    """The whole loop: learn, detect, be corrected, learn again, detect again.

    Args:
        seen: fed by whoever drives the story.
        hands: does what the story decides.
        journal: gets the plot.
        clock: Unix seconds.
    """

    def __init__(self, seen: Observations, hands: Hands, journal: Journal, clock: Callable[[], float]) -> None:
        self._seen = seen
        self._hands = hands
        self._journal = journal
        self._clock = clock
        self.began_at = clock()
        self.injections: list[Injection] = []

        job = NETWORK_COPY.title
        self._start = Chapter("start", "start an agent and workers")
        self._learn = Chapter("learn", f"learn {WARM_UP_SECONDS:.0f} s of what is normal")
        self._faults = {one: _fault("detect", one) for one in (CPU_HOG, MEMORY_LEAK, DISK_HAMMER)}
        self._benign = Chapter("flag_benign", f"flag a harmless {job}", job)
        self._retrain = Chapter("retrain", "learn from its label")
        self._recurrence = Chapter("excuse", f"excuse the next {job}", f"{job}, again")
        self._meanwhile = _fault("detect_meanwhile", DISK_HAMMER, " meanwhile", " during the copy")
        self._again = _fault("detect_again", CPU_HOG, " again", ", again")

    @property
    def chapters(self) -> list[Chapter]:
        """All chapters in their order."""
        first = [self._start, self._learn, *self._faults.values()]
        return [*first, self._benign, self._retrain, self._recurrence, self._meanwhile, self._again]

    @property
    def running(self) -> list[str]:
        """The loads that are on this machine now, as people call them."""
        return [one.trouble.title for one in self.injections if one.ended_at is None]

    def tell(self) -> Waits:
        """The waits of the whole story.

        Raises:
            NotClosedError: nothing that follows could be shown.
        """
        yield from self._first_window()
        yield from self._first_model()
        for trouble, chapter in self._faults.items():
            yield from self._detect(chapter, trouble)
        flagged = yield from self._flag_benign()
        self._begin(self._retrain)
        yield from self._teach(flagged)
        yield from self._recur()
        yield from self._detect(self._again, CPU_HOG)

    def _first_window(self) -> Waits:
        """The agent comes last: that the workers start is not to be learned as normal."""
        self._begin(self._start)
        if not (yield self._wait("the workers", lambda: self._seen.stages >= STAGES, WORKERS_SECONDS)):
            missing = ", ".join(sorted(STAGES - self._seen.stages))
            raise self._failed(self._start, f"no sign of life came from {missing} within {WORKERS_SECONDS:.0f} s")
        self._journal.write(Tone.PLOT, "an agent begins to read this machine, and a small training job to work on it")
        self._hands.start_agent()
        if not (yield self._wait("the first feature window", lambda: self._seen.windows > 0, FIRST_WINDOW_SECONDS)):
            came = "samples came, but no window of them" if self._seen.samples else "no samples came"
            raise self._failed(self._start, f"{came} within {FIRST_WINDOW_SECONDS:.0f} s")
        self._start.succeed(f"{self._clock() - self.began_at:.0f} s")

    def _first_model(self) -> Waits:
        self._begin(self._learn)
        yield self._wait(
            "the first model", lambda: self._scoring_since(0) is not None, FIRST_MODEL_SECONDS, self._warm_up
        )
        version = self._scoring_since(0)
        if version is None:
            why = f": {self._seen.setbacks[-1]}" if self._seen.setbacks else ""
            raise self._failed(self._learn, f"no model was learned within {FIRST_MODEL_SECONDS:.0f} s{why}")
        self._learn.succeed(f"version {version}")
        busy = self._seen.mean_of(Shown.CPU_BUSY)
        if busy > BUSY_SHARE:
            self._journal.write(
                Tone.PROBLEM,
                f"this machine is {busy:.0%} busy with other work: faults may be missed, and other things flagged",
            )

    def _warm_up(self) -> float:
        return min(1.0, self._seen.event_seconds / WARM_UP_SECONDS)

    def _scoring_since(self, models: int) -> int | None:
        """The version that scores now, if it was published after the first so many `models`."""
        return next((one.version for one in self._seen.published[models:] if self._seen.is_scoring(one)), None)

    def _detect(self, chapter: Chapter, trouble: Trouble) -> Waits:
        """A fault; one that is missed in the noise of the machine gets a second chance."""
        self._begin(chapter)
        for _ in self._attempts(ATTEMPTS):
            found = yield from self._try(trouble, SHOWN_SECONDS)
            if found is not None:
                chapter.succeed("detected", found)
                return
            self._fail(chapter, "not detected", f"the {chapter.load} was not detected in {DETECT_SECONDS:.0f} s")

    def _flag_benign(self) -> Generator[Wait, bool, Detection]:
        """The job for the first time: nobody has told the model yet that it is harmless."""
        self._begin(self._benign)
        for _ in self._attempts(ATTEMPTS):
            found = yield from self._try(NETWORK_COPY, TAUGHT_SECONDS)
            if found is not None:
                self._benign.succeed("flagged", found)
                return found
        raise self._failed(self._benign, f"the {NETWORK_COPY.title} was not flagged, so there is nothing to learn")

    def _try(self, trouble: Trouble, least_seconds: float) -> Generator[Wait, bool, Detection | None]:
        """One load in quiet, until it is detected and at least so long, or for as long as that may take."""
        yield from self._quiet()
        load = self._inject(trouble)
        yield self._wait(f"a verdict about the {trouble.title}", lambda: self._found(load) is not None, DETECT_SECONDS)
        found = self._found(load)
        if found is not None:
            yield from self._go_on(load, least_seconds)
        self._end(load)
        return found

    def _go_on(self, load: Injection, least_seconds: float) -> Waits:
        until = load.started_at + least_seconds
        yield self._wait(f"more of the {load.trouble.title}", lambda: self._clock() >= until, least_seconds)

    def _teach(self, flagged: Detection) -> Waits:
        """Label a verdict once its anomaly is closed, and wait until a model that knows the label scores."""
        anomaly_id = flagged.anomaly.id
        yield self._wait("the anomaly to close", lambda: anomaly_id not in self._seen.open_anomalies(), CLOSE_SECONDS)
        models, setbacks = len(self._seen.published), len(self._seen.setbacks)
        self._journal.write(Tone.PLOT, f"label: {anomaly_id} was a false positive")
        self._hands.label_false_positive(anomaly_id)
        labelled_at = self._clock()
        yield self._wait(
            "the retrained model",
            lambda: self._scoring_since(models) is not None or len(self._seen.setbacks) > setbacks,
            RETRAIN_SECONDS,
        )
        version = self._scoring_since(models)
        if version is None:
            why = self._seen.setbacks[-1] if len(self._seen.setbacks) > setbacks else "no new model scores"
            raise self._failed(self._retrain, f"nothing was learned from the label: {why}")
        self._retrain.succeed(f"version {version} in {self._clock() - labelled_at:.0f} s")

    def _recur(self) -> Waits:
        """The job again, and labelled again if need be, until it is excused."""
        self._begin(self._recurrence)
        for _ in self._attempts(RECURRENCE_ATTEMPTS):
            flagged = yield from self._recur_once()
            if flagged is not None:
                yield from self._teach(flagged)
            elif self._recurrence.state is ChapterState.DONE:
                return

    def _recur_once(self) -> Generator[Wait, bool, Detection | None]:
        """The job in quiet and, once it is excused, a fault while it goes on; the verdict if it is flagged instead."""
        yield from self._quiet()
        before = self._seen.excused
        job = self._inject(NETWORK_COPY)
        yield self._wait(
            f"{EXCUSED_WINDOWS} excused windows of the {NETWORK_COPY.title}",
            lambda: self._seen.excused - before >= EXCUSED_WINDOWS or len(self._flagged(job)) >= FLAGGED_WINDOWS,
            EXCUSED_SECONDS,
        )
        flagged, excused = self._flagged(job), self._seen.excused - before
        is_flagged = len(flagged) >= FLAGGED_WINDOWS
        what = f"the {NETWORK_COPY.title} that came again"
        if is_flagged:
            self._fail(self._recurrence, "flagged", f"{what} was flagged despite its label")
            yield from self._go_on(job, TAUGHT_SECONDS)
        elif excused < EXCUSED_WINDOWS:
            self._fail(self._recurrence, "not excused", f"{what} was excused in {excused} windows only")
        else:
            self._recurrence.succeed(f"excused {excused} of {excused + len(flagged)}")
            yield from self._detect(self._meanwhile, DISK_HAMMER)
        self._end(job)
        return flagged[0] if is_flagged else None

    def _flagged(self, job: Injection) -> list[Detection]:
        """Verdicts about the job more than about anything else that goes on at the same time."""
        return list(verdicts_about(job, self._seen.revisions, strongest=1))

    def _quiet(self) -> Waits:
        """Until no anomaly is open and the newest window holds nothing of the loads that ended, or for a while."""
        over_at = max((one.ended_at for one in self.injections if one.ended_at is not None), default=0.0)
        yield self._wait(
            "quiet",
            lambda: not self._seen.open_anomalies() and self._seen.newest_start_seconds >= over_at,
            QUIET_SECONDS,
        )

    def _found(self, injection: Injection) -> Detection | None:
        return next(verdicts_about(injection, self._seen.revisions), None)

    def _inject(self, trouble: Trouble) -> Injection:
        injection = Injection(trouble, self._clock())
        self.injections.append(injection)
        self._journal.write(Tone.PLOT, f"starts: {trouble.title}, {trouble.does}")
        self._hands.start(trouble)
        return injection

    def _end(self, injection: Injection) -> None:
        self._hands.stop(injection.trouble)
        injection.ended_at = self._clock()
        self._journal.write(Tone.PLOT, f"ends: {injection.trouble.title}")

    def _wait(
        self, what: str, until: Callable[[], bool], seconds: float, progress: Callable[[], float] | None = None
    ) -> Wait:
        left = self.began_at + LAST_END_SECONDS - self._clock()
        return Wait(what, until, min(seconds, max(left, 0.0)), progress)

    def _attempts(self, most: int) -> Iterator[int]:
        return itertools.takewhile(lambda attempt: attempt == 0 or not self._is_late(), range(most))

    def _is_late(self) -> bool:
        return self._clock() - self.began_at > LAST_BEGIN_SECONDS

    def _begin(self, chapter: Chapter) -> None:
        if self._is_late():
            raise NotClosedError(f"after {LAST_BEGIN_SECONDS:.0f} s there was no time left to {chapter.title}")
        chapter.state = ChapterState.RUNNING

    def _fail(self, chapter: Chapter, result: str, problem: str) -> None:
        chapter.fail(result, problem)
        self._journal.write(Tone.PROBLEM, problem)

    def _failed(self, chapter: Chapter, problem: str) -> NotClosedError:
        chapter.fail("failed", problem)
        return NotClosedError(problem)


def _fault(name: str, trouble: Trouble, when: str = "", circumstance: str = "") -> Chapter:
    return Chapter(f"{name}_{trouble.load}", f"detect a {trouble.title}{when}", f"{trouble.title}{circumstance}")
