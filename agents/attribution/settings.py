"""Where the attribution looks; the places are mounted elsewhere in many containers."""

import msgspec

_MAX_SOCKET_BYTES = 107
"""The kernel's limit of a Unix socket's path, less the closing zero."""


class AttributionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked about who runs what.

    `kubelet_socket`: the kubelet's pod-resources socket, which knows the pods that devices were given to.
    `container_logs`: the kubelet's folder of one log name a container; only its names are read, never a log.
    `environment`: whether job and rank may be looked up in the processes' environment; nothing else of it is kept.

    Raises:
        ValueError: a setting can't work.
    """

    kubelet_socket: str = "/var/lib/kubelet/pod-resources/kubelet.sock"
    container_logs: str = "/var/log/containers"
    environment: bool = True

    def __post_init__(self) -> None:
        for name, path in (("kubelet_socket", self.kubelet_socket), ("container_logs", self.container_logs)):
            if not path.startswith("/"):
                raise ValueError(f"attribution.{name} {path!r} must be a path from the root, such as /var/lib")
        if len(self.kubelet_socket.encode()) > _MAX_SOCKET_BYTES:
            raise ValueError(
                f"attribution.kubelet_socket has more than {_MAX_SOCKET_BYTES} bytes, which no Unix socket can have"
            )
