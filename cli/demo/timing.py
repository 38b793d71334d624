"""The demo's times: short windows and a short warm-up, and how long each step may take at most. All in seconds."""

WINDOW_SECONDS = 5.0
HOP_SECONDS = 1.0
WARM_UP_SECONDS = 60.0

LAST_BEGIN_SECONDS = 205.0
LAST_END_SECONDS = 225.0
"""After so long since the start no chapter begins and nothing is tried again, and no wait goes on: with the time that
it takes to end all processes, the whole stays under four minutes."""

WORKERS_SECONDS = 45.0
FIRST_WINDOW_SECONDS = 20.0
FIRST_MODEL_SECONDS = WARM_UP_SECONDS + 45.0
DETECT_SECONDS = 12.0
SHOWN_SECONDS = 6.0
"""A load that is detected at once goes on for so long, to be seen in the figures."""
TAUGHT_SECONDS = 9.0
"""The harmless job goes on for so long, that windows which are full of it are among those to learn from."""

QUIET_SECONDS = 15.0
CLOSE_SECONDS = 20.0
RETRAIN_SECONDS = 30.0
EXCUSED_SECONDS = 25.0
