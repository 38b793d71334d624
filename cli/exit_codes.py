"""What becomes of an error: the process's exit code."""

# By name, because importing the packages that define them would make every start slow.
EXIT_CODES = {
    "pulsetrain.cli.errors.ConfigError": 2,
    "pulsetrain.schemas.kafka.settings.SettingsError": 2,
    "pulsetrain.streams.features.errors.FeatureError": 2,
    "pulsetrain.agents.errors.AgentError": 1,
    "pulsetrain.cli.errors.CliError": 1,
    "pulsetrain.models.errors.ModelError": 1,
    "pulsetrain.schemas.errors.SchemaError": 1,
    "pulsetrain.streams.errors.StreamError": 1,
}


def exit_code(error: Exception) -> int | None:
    """1 for a failure, 2 for a wrong configuration; None for what no package of ours raises on purpose."""
    for kind in type(error).__mro__:
        if code := EXIT_CODES.get(f"{kind.__module__}.{kind.__qualname__}"):
            return code
    return None
