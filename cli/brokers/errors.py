"""Why a broker could not be started or kept running."""

from __future__ import annotations

from pulsetrain.cli.errors import CliError


class BrokerError(CliError):
    """A broker cannot be started or stopped; the message says what was wrong and what to do."""
