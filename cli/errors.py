"""What can go wrong at the front door; each message is the one sentence that the user reads."""


class CliError(Exception):
    """Root of all errors of `pulsetrain.cli`: the command failed (exit code 1)."""


class ConfigError(CliError):
    """The configuration or an argument can't be used (exit code 2): change what the message names."""
