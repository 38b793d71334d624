"""What an optional part of the installation brings."""

import sys
from importlib.util import find_spec

from pulsetrain.cli.errors import CliError


def require_extra(extra: str, *modules: str) -> None:
    """Refuse to go on where an extra was not installed.

    Raises:
        CliError: one of its modules is missing; the message says how to install them.
    """
    # A module that is loaded may have no spec (faust replaces itself by a lazy one).
    missing = [module for module in modules if module not in sys.modules and find_spec(module) is None]
    if missing:
        raise CliError(
            f"This command needs more packages ({', '.join(missing)} not found): "
            f"`pip install 'pulsetrain[{extra}]'` brings them."
        )
