"""The command `pulsetrain`: its commands, and what becomes of their errors."""

import sys

import typer

from pulsetrain.cli.commands.agent import agent
from pulsetrain.cli.commands.demo import demo
from pulsetrain.cli.commands.kafka import kafka
from pulsetrain.cli.commands.label import label
from pulsetrain.cli.commands.tail import tail
from pulsetrain.cli.commands.topics import topics
from pulsetrain.cli.commands.version import version
from pulsetrain.cli.commands.worker import worker
from pulsetrain.cli.exit_codes import exit_code

app = typer.Typer(
    name="pulsetrain",
    help="Streaming health analytics for distributed ML training, on Kafka.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong configuration or arguments, 130 ended with Ctrl-C.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for command in (demo, agent, worker, label, tail, kafka, version):
    app.command()(command)
app.add_typer(topics, name="topics")


def main() -> None:
    """Run the command line of this process; an error that we know is one sentence and an exit code."""
    try:
        app()
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        typer.echo(f"Error: {error}", err=True)
        sys.exit(code)


if __name__ == "__main__":
    main()
