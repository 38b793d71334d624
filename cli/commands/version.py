"""`pulsetrain version`."""

from importlib.metadata import version as installed_version

import typer


def version() -> None:
    """Print the version.

    Example: pulsetrain version

    Exit codes: 0.
    """
    typer.echo(f"pulsetrain {installed_version('pulsetrain')}")
