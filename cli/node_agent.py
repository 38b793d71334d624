"""The process of the node agent, which `pulsetrain agent` becomes: without what only a command line needs.

All its settings come from the environment and the file that a variable there names.
"""

import logging
import os
import sys

from pulsetrain.cli.lazy_modules import load_lazily

# confluent_kafka imports it for its serialisers. With the TLS that it brings it would be 5 MiB.
load_lazily("asyncio")

from pulsetrain.agents.agent import RejectedError, run_agent  # noqa: E402
from pulsetrain.agents.log_settings import LogSettings  # noqa: E402
from pulsetrain.agents.orders import Orders  # noqa: E402
from pulsetrain.agents.reload import AllSettings  # noqa: E402
from pulsetrain.cli.config import load_config  # noqa: E402
from pulsetrain.cli.errors import ConfigError  # noqa: E402
from pulsetrain.cli.exit_codes import exit_code  # noqa: E402
from pulsetrain.cli.open_files import allow_open_files  # noqa: E402
from pulsetrain.cli.stopping import obey_signals  # noqa: E402
from pulsetrain.schemas.errors import SchemaError  # noqa: E402

_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def main() -> None:
    """Run the agent until a signal ends it; an error that we know is one sentence and an exit code."""
    try:
        orders = Orders()
        obey_signals(orders)
        allow_open_files()
        settings = _settings()
        _log_to(settings.agent.log)
        run_agent(settings, orders, _settings_anew)
    except Exception as error:
        code = exit_code(error)
        if any(isinstance(handler, logging.FileHandler) for handler in logging.getLogger().handlers):
            logging.getLogger(__name__).critical("The agent ends: %s", error, exc_info=code is None)
        if code is None:
            raise
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(code)


def _settings() -> AllSettings:
    config = load_config(environment=os.environ)
    return AllSettings(config.agent, config.kafka, config.topics.names)


def _settings_anew() -> AllSettings:
    try:
        return _settings()
    except (ConfigError, SchemaError) as error:
        raise RejectedError(str(error)) from error


def _log_to(settings: LogSettings) -> None:
    handlers: list[logging.Handler] | None = None
    if settings.file:
        from pulsetrain.agents.log_file import LogFile

        handlers = [LogFile(settings)]
    logging.basicConfig(level=logging.INFO, format=_LINE, handlers=handlers)


if __name__ == "__main__":
    main()
