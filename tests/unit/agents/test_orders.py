"""Orders wake whoever waits, and take effect once."""

import threading
import time
from contextlib import closing

from pulsetrain.agents.orders import Orders


def test_without_an_order_a_wait_takes_its_time() -> None:
    with closing(Orders()) as orders:
        began = time.monotonic()
        assert not orders.wait(0.05)
        assert time.monotonic() - began >= 0.049
        assert not orders.wait(-1.0)


def test_an_order_from_another_thread_ends_the_wait() -> None:
    with closing(Orders()) as orders:
        threading.Timer(0.05, orders.stop).start()
        began = time.monotonic()
        assert orders.wait(60.0)
        assert time.monotonic() - began < 30.0
        assert orders.is_stopping
        assert orders.wait(60.0), "and every later one"


def test_a_reload_is_taken_once_however_often_it_was_ordered() -> None:
    with closing(Orders()) as orders:
        for _ in range(100_000):
            orders.reload()
        assert orders.wait(60.0)
        assert orders.take_reload()
        assert not orders.take_reload()
        while orders.wait(0.0):
            pass
        assert not orders.is_stopping
