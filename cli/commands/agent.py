"""`pulsetrain agent`."""

from pulsetrain.cli.commands.options import BootstrapOption, ConfigOption, PrefixOption, configuration


def agent(config: ConfigOption = None, bootstrap: BootstrapOption = None, prefix: PrefixOption = None) -> None:
    """Read this machine's metrics and send them to Kafka until stopped.

    One agent runs on each node. It waits for Kafka at the start, holds a bounded backlog while Kafka is away, and
    delivers what it holds when Ctrl-C or SIGTERM ends it.

    Example: pulsetrain agent --bootstrap kafka-0:9092

    Exit codes: 0 stopped, 1 failed, 2 the configuration can't be used.
    """
    import logging

    from pulsetrain.agents.agent import run_agent
    from pulsetrain.cli.stopping import stop_on_signals

    settings = configuration(config, bootstrap, prefix)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    run_agent(settings.agent, settings.kafka, settings.topics.names, stop_on_signals())
