"""`pulsetrain demo`."""

from pathlib import Path
from typing import Annotated

import typer

from pulsetrain.cli.commands.options import say


def demo(
    kafka: Annotated[
        bool, typer.Option("--kafka", help="On an Apache Kafka of its own instead of the embedded broker.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document at the end; progress to stderr.")] = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Save the last screen and the table as a picture.")
    ] = None,
) -> None:
    """Show the whole loop on this machine, in under four minutes and on at most two CPUs.

    An agent and workers of its own learn what is normal here while a small training job runs. Then real faults are
    started, one after another: a CPU hog, a memory leak and a disk hammer; each is detected, with evidence. A harmless
    job is flagged too, labelled a false positive, and excused from then on, while faults still are detected.
    Everything that it starts ends with it, and it needs no Kafka.

    Example: pulsetrain demo

    Example: pulsetrain demo --json

    Exit codes: 0 the loop closed, 1 it did not, 130 ended with Ctrl-C.
    """
    from pulsetrain.cli.extras import require_extra

    require_extra("streams", "faust", "onnxruntime", "sklearn", "tsfresh")
    import os
    import signal
    import sys

    import msgspec
    from rich.console import Console

    from pulsetrain.cli.demo.report import document, picture, print_result
    from pulsetrain.cli.demo.run import run_demo
    from pulsetrain.cli.demo.views import choose_view
    from pulsetrain.cli.errors import ConfigError

    if svg is not None and (svg.is_dir() or not os.access(svg if svg.exists() else svg.parent, os.W_OK)):
        raise ConfigError(f"--svg {svg}: there is no file that can be written.")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda stopped, _frame: sys.exit(128 + stopped))
    console = Console(stderr=as_json, highlight=False)
    done = run_demo(on_apache_kafka=kafka, announce=say, view_of=lambda begun: choose_view(begun, console))
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(document(done))).decode())
    else:
        print_result(done, console)
    if svg is not None:
        svg.write_text(picture(done), encoding="utf-8")
    raise typer.Exit(0 if done.not_closed is None else 1)
