"""Where the agent listens and the hook sends."""

from collections.abc import Mapping

PATH_VARIABLE = "PULSETRAIN_HOOK_SOCKET"
SYSTEM_PATH = "/run/pulsetrain/hook.sock"


def user_path(environment: Mapping[str, str]) -> str | None:
    """Where an agent without root's rights listens: in a folder that only its user can enter."""
    folder = environment.get("XDG_RUNTIME_DIR")
    return f"{folder}/pulsetrain/hook.sock" if folder else None


def paths_to_try(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where a hook looks for the agent: only at the named path if one is named."""
    if named := environment.get(PATH_VARIABLE):
        return (named,)
    users = user_path(environment)
    return (SYSTEM_PATH, users) if users else (SYSTEM_PATH,)
