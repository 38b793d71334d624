"""The file of a Unix socket: made where nobody else listens, and removed only while it is ours.

Every user of the node may send to it (mode 0666, as syslog's /dev/log): training runs under any user, and what a
message can do is bounded by what the agent makes of it. The kernel tells the sender's process id, so labels that come
from it can't be forged. The folder is not open for writing, so nobody can put another socket in its place.
"""

import contextlib
import errno
import os
import socket
import stat
from pathlib import Path

from pulsetrain.agents.errors import CollectError

_SOCKET_MODE = 0o666
_FOLDER_MODE = 0o755


class SocketFile:
    """A datagram socket bound to a path.

    Raises:
        CollectError: the path can't be used, or another agent listens there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        _make_folder(path.parent)
        _remove_stale(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self.socket.bind(str(path))
            path.chmod(_SOCKET_MODE)
            self._inode = path.lstat().st_ino
        except OSError as error:
            self.socket.close()
            raise CollectError(f"can't listen at {path}: {_reason(error)}") from error

    def is_there(self) -> bool:
        """Whether the path still leads to this socket."""
        try:
            return self.path.lstat().st_ino == self._inode
        except OSError:
            return False

    def stop_receiving(self) -> None:
        """Nothing more comes: a thread that waits for a datagram gets one of no length."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Close the socket and remove its file."""
        if self.is_there():
            self.path.unlink(missing_ok=True)
        self.socket.close()


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    try:
        folder.mkdir()
        folder.chmod(_FOLDER_MODE)
    except FileExistsError:
        return
    except OSError as error:
        raise CollectError(f"can't make the folder {folder} for the socket: {_reason(error)}") from error


def _remove_stale(path: Path) -> None:
    """Remove the socket of an agent that is gone."""
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise CollectError(f"can't look at {path}: {_reason(error)}") from error
    if not is_socket:
        raise CollectError(f"{path} is no socket: move it away, or set agent.hook.socket_path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as trial:
        code = trial.connect_ex(str(path))
    if code == 0:
        raise CollectError(
            f"another agent listens at {path} and hears the hooks; a second one needs its own agent.hook.socket_path"
        )
    if code != errno.ECONNREFUSED:
        raise CollectError(f"can't use {path}: {os.strerror(code)}")
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise CollectError(f"can't remove the old socket {path}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
