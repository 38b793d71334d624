"""The collector of training signals: hears the hooks of all ranks on this node."""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pulsetrain.agents.collectors.base import HOST, Collected, Observation, Support
from pulsetrain.agents.collectors.training.listener import Datagram, Listener
from pulsetrain.agents.collectors.training.message import RefusedError, decode
from pulsetrain.agents.collectors.training.ranks import METRICS, Ranks
from pulsetrain.agents.collectors.training.settings import HookSettings
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.hook.socket_paths import SYSTEM_PATH, user_path

_LOG = logging.getLogger(__name__)

_SAY_AGAIN_NS = 600_000_000_000
"""How long refused messages are only counted after one was written to the log."""

_REFUSED = "pulsetrain.agent.hook.messages_refused"


class TrainingCollector:
    """Listens from the first time it is asked whether it can, until it is closed.

    Args:
        settings: where to listen.
        labels_of: what else is known of a process of this node, by its id.
        environment: of this process.
        may_write: whether this process may make files in a folder.
    """

    def __init__(
        self,
        settings: HookSettings,
        labels_of: Callable[[int], Mapping[str, str]],
        environment: Mapping[str, str] = os.environ,
        may_write: Callable[[Path], bool] = lambda folder: os.access(folder, os.W_OK),
    ) -> None:
        self.name = "training"
        self.interval_ms = 1000
        self.deadline_seconds = 5.0
        self.metric_names = (*METRICS, _REFUSED)
        self._path = _listen_path(settings, environment, may_write)
        self.source = str(self._path or SYSTEM_PATH)
        self._listener: Listener | None = None
        self._ranks = Ranks(labels_of)
        self._refused = 0
        self._said_at_ns = -_SAY_AGAIN_NS
        self._is_closed = False

    def is_supported(self) -> Support:
        """Begin to listen."""
        if self._path is None:
            folder = Path(SYSTEM_PATH).parent
            return Support(
                False, f"may not listen in {folder}, and there is no XDG_RUNTIME_DIR: set agent.hook.socket_path"
            )
        try:
            self._listen(self._path)
        except CollectError as error:
            return Support(False, str(error))
        return Support(True)

    def collect(self, time_ns: int) -> Collected:
        """What hooks have told since the last time.

        Raises:
            CollectError: the socket is gone, and there can be no new one.
        """
        if self._path is None:
            raise CollectError("there is nowhere to listen")
        heard = [] if self._listener is None else self._listener.take()
        for datagram in heard:
            self._hear(datagram, time_ns)
        self._listen(self._path)
        observations = self._ranks.observations(time_ns)
        if self._refused:
            observations.append(Observation(HOST, time_ns, (_REFUSED,), (float(self._refused),)))
        return Collected(observations)

    def close(self) -> None:
        """Stop to listen, and remove the socket."""
        self._is_closed = True
        self._stop_to_listen()

    def _stop_to_listen(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _listen(self, path: Path) -> None:
        """Have a listener; a new one where the old one's file was removed, as cleaners of /run do."""
        if self._is_closed or (self._listener is not None and self._listener.is_alive()):
            return
        self._stop_to_listen()
        self._listener = Listener(path)
        if self._is_closed:  # meanwhile, by another thread
            self._stop_to_listen()

    def _hear(self, datagram: Datagram, time_ns: int) -> None:
        try:
            if datagram.is_cut:
                raise RefusedError("the message is too long")
            self._ranks.add(decode(datagram.content), datagram.pid, time_ns)
        except RefusedError as error:
            self._refused += 1
            if not 0 <= time_ns - self._said_at_ns < _SAY_AGAIN_NS:
                self._said_at_ns = time_ns
                _LOG.warning("A message of process %d at %s is not used: %s.", datagram.pid, self.source, error)


def _listen_path(
    settings: HookSettings, environment: Mapping[str, str], may_write: Callable[[Path], bool]
) -> Path | None:
    """Where to listen: as configured, else the system's path, else the user's; None where none of them can be."""
    if settings.socket_path is not None:
        return Path(settings.socket_path)
    system = Path(SYSTEM_PATH)
    if may_write(system.parent if system.parent.is_dir() else system.parent.parent):
        return system
    users = user_path(environment)
    return None if users is None else Path(users)
