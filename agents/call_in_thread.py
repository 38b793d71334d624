"""A call that may hang, in a thread of its own that nobody has to wait for."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class CallInThread(Generic[T]):
    """Calls at once; the answer is fetched later. The thread does not keep the process alive.

    Args:
        call: what to do.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._answer: list[T] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def answer(self, seconds: float) -> T:
        """What the call returned.

        Args:
            seconds: how long to wait for it at most.

        Raises:
            TimeoutError: there is no answer yet.
            Exception: what the call raised.
        """
        self._thread.join(max(0.0, seconds))
        if self._error is not None:
            raise self._error
        if not self._answer:
            raise TimeoutError
        return self._answer[0]

    def _run(self, call: Callable[[], T]) -> None:
        try:
            self._answer.append(call())
        except Exception as error:  # raised again in the thread that asks for the answer
            self._error = error
