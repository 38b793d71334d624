"""The jars of Apache Kafka: fetched once from a Maven repository, checked, and kept in the user's cache."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from pulsetrain.cli.brokers.errors import BrokerError

KAFKA_VERSION = "4.4.0"

_COORDINATES = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    # Kafka's own dependencies have no slf4j provider, and without one it would log nothing at all.
    "org.slf4j:slf4j-simple:1.7.36",
)
_CHECKSUMS = Path(__file__).with_name("kafka_jars.sha256")
_PROGRESS_EVERY = 10
_NO_EXTRA = "Starting Apache Kafka needs more packages: `pip install 'pulsetrain[kafka]'`."


def kafka_jars(cache_dir: Path, announce: Callable[[str], None]) -> Path:
    """Folder that holds every jar Apache Kafka needs, and nothing else; the first call fetches them.

    The repository is Maven Central, or what the user's jgo configuration (`~/.config/jgo.conf`, section
    `[repositories]`) calls `central`.

    Args:
        cache_dir: where the folder is kept from one run to the next.
        announce: called with a sentence of progress while jars are fetched, never otherwise.

    Raises:
        BrokerError: a jar can't be fetched, or is not the one that its checksum stands for.
    """
    expected = checksums()
    folder = cache_dir / f"kafka-{KAFKA_VERSION}"
    if not folder.is_dir():
        announce(f"Fetching Apache Kafka {KAFKA_VERSION} (45 MB, once) into {folder}")
        try:
            _fetch(folder, expected, announce)
        except OSError as error:
            raise BrokerError(f"Cannot store Apache Kafka in {folder}: {error}.") from error
    if {jar.name for jar in folder.glob("*.jar")} != expected.keys():
        raise BrokerError(f"{folder} does not hold the jars of Apache Kafka: delete it, and start again.")
    return folder


def cache_folder() -> Path:
    """Where this user's programs keep what can be fetched again.

    Raises:
        BrokerError: Pulsetrain was installed without its extra `kafka`.
    """
    try:
        import platformdirs
    except ImportError as error:
        raise BrokerError(_NO_EXTRA) from error
    return platformdirs.user_cache_path("pulsetrain")


def checksums() -> dict[str, str]:
    """SHA-256 (hexadecimal) of every jar, by file name."""
    lines = _CHECKSUMS.read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def _fetch(folder: Path, expected: dict[str, str], announce: Callable[[str], None]) -> None:
    """Fill a folder of another name first, so that an interrupted run leaves nothing half done."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as scratch:
        complete = Path(scratch, "jars")
        complete.mkdir()
        for jar in _download(Path(scratch, "maven"), announce):
            _check(jar, expected)
            jar.rename(complete / jar.name)
        try:
            complete.rename(folder)
        except OSError:
            # Another process was faster: its folder is as good as this one.
            if not folder.is_dir():
                raise


def _download(repository: Path, announce: Callable[[str], None]) -> list[Path]:
    try:
        from jgo.config import GlobalSettings
        from jgo.maven import MavenContext
    except ImportError as error:
        raise BrokerError(_NO_EXTRA) from error
    context = MavenContext(repo_cache=repository)
    context.remote_repos.update(GlobalSettings.load().repositories)
    jars: list[Path] = []
    try:
        roots, transitive = context.resolver.resolve([context.create_dependency(c) for c in _COORDINATES])
        artifacts = [dependency.artifact for dependency in [*roots, *transitive]]
        for artifact in artifacts:
            jars.append(artifact.resolve())
            if len(jars) % _PROGRESS_EVERY == 0 or len(jars) == len(artifacts):
                announce(f"Fetched {len(jars)} of {len(artifacts)} jars")
    # SyntaxError is what the XML parser raises on a damaged or foreign answer.
    except (OSError, RuntimeError, ValueError, SyntaxError) as error:
        raise BrokerError(
            f"Cannot fetch Apache Kafka {KAFKA_VERSION} from {', '.join(context.remote_repos.values())}: "
            f"{error}. Check the network and try again; behind a mirror, name it in ~/.config/jgo.conf "
            "(`[repositories]`, `central = URL`)."
        ) from error
    return jars


def _check(jar: Path, expected: dict[str, str]) -> None:
    if hashlib.sha256(jar.read_bytes()).hexdigest() != expected.get(jar.name):
        raise BrokerError(
            f"{jar.name} from the Maven repository is not the file that Pulsetrain was tested with (SHA-256 "
            "differs). Try again; if it stays so, check the mirror that your jgo configuration names."
        )
