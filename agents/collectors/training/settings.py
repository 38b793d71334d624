"""Settings of the socket for training hooks."""

from typing import Literal

import msgspec

_MAX_PATH_BYTES = 107
"""The longest path of a Unix socket (unix(7))."""


class HookSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where training hooks find the agent.

    `enabled`: `auto` listens where the socket can be made, `off` never. `socket_path`: by default
    /run/pulsetrain/hook.sock, or pulsetrain/hook.sock in $XDG_RUNTIME_DIR for an agent without root's rights; hooks
    look at both, and elsewhere only if PULSETRAIN_HOOK_SOCKET tells them.

    Raises:
        ValueError: a setting can't work.
    """

    enabled: Literal["auto", "off"] = "auto"
    socket_path: str | None = None

    def __post_init__(self) -> None:
        if self.socket_path is None:
            return
        if not self.socket_path.startswith("/") or "\0" in self.socket_path:
            raise ValueError(f"hook.socket_path {self.socket_path!r} must be an absolute path")
        if len(self.socket_path.encode()) > _MAX_PATH_BYTES:
            raise ValueError(f"hook.socket_path {self.socket_path!r} has more than {_MAX_PATH_BYTES} bytes")
