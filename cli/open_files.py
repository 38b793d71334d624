"""How many files the agent may have open: those of every container stay open."""

import resource
from contextlib import suppress

MOST_OPEN_FILES = 4096


def allow_open_files() -> None:
    """Raise the soft limit, which is 1024 on most systems, towards the hard one; never lower it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # with fewer files fewer containers are read, and the agent says so
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
