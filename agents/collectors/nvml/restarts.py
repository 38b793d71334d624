"""When the library is to be initialised anew."""

import time
from collections.abc import Callable

_FAILED_ROUNDS = 3
"""So many rounds in which no GPU has a value are no accident."""

_FIRST_DELAY_SECONDS, _LAST_DELAY_SECONDS = 30.0, 600.0


class Restarts:
    """Says when, and why; ever less often while that does not help.

    Args:
        monotonic: seconds that only grow.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._failed_rounds = 0
        self._not_before: float | None = None
        self._delay_seconds = _FIRST_DELAY_SECONDS

    @property
    def is_out_of_order(self) -> bool:
        """Whether no GPU has had a value for so long that it is no accident."""
        return self._failed_rounds >= _FAILED_ROUNDS

    def because(self, is_shut_down: bool, all_failed: bool, some_lost: bool) -> str | None:
        """Why to initialise it anew after a round; None where there is no need, or it was done lately.

        Args:
            is_shut_down: the library says that it is not initialised.
            all_failed: no GPU had a value.
            some_lost: a GPU is lost. One that was reset is shown to a new session only.
        """
        self._failed_rounds = self._failed_rounds + 1 if all_failed else 0
        if not (is_shut_down or all_failed or some_lost):
            self._not_before, self._delay_seconds = None, _FIRST_DELAY_SECONDS
            return None
        now = self._monotonic()
        if self._not_before is None:
            self._not_before = now if is_shut_down or all_failed else now + self._delay_seconds
        if is_shut_down:
            why = "it is not initialised any more"
        elif self.is_out_of_order:
            why = "no GPU has answered with a value"
        elif some_lost and not all_failed:
            why = "a GPU is lost"
        else:
            return None
        if now < self._not_before:
            return None
        self._not_before = now + self._delay_seconds
        self._delay_seconds = min(2 * self._delay_seconds, _LAST_DELAY_SECONDS)
        return why
