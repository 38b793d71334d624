"""Whether the system has threads for a library that does not bear it when there are none.

librdkafka 2.16 crashes, or is left without a connection for ever, where pthread_create fails for some of its threads.
"""

import threading


def has_threads(count: int) -> bool:
    """Whether so many threads can be started now, tried by starting them; they end at once."""
    over = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(count):
            thread = threading.Thread(target=over.wait, name="spare", daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return False
    finally:
        over.set()
        for thread in started:
            thread.join()
    return True
