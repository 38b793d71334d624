import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pulsetrain.cli.brokers.errors import BrokerError
from pulsetrain.cli.brokers.kafka_jars import cache_folder, checksums, kafka_jars


class ForeignRepository(BaseHTTPRequestHandler):
    """A Maven repository whose artifacts have no dependencies and are not what they should be."""

    def do_GET(self) -> None:
        *group, artifact, version, file = self.path.strip("/").split("/")
        if file.endswith(".pom"):
            self._answer(
                "<project><modelVersion>4.0.0</modelVersion>"
                f"<groupId>{'.'.join(group)}</groupId><artifactId>{artifact}</artifactId>"
                f"<version>{version}</version></project>"
            )
        elif file.endswith(".jar"):
            self._answer("not what it should be")
        else:
            self.send_error(404)

    def _answer(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Keep the test's output clean."""


@pytest.fixture
def foreign_repository() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), ForeignRepository) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def use_mirror(monkeypatch: pytest.MonkeyPatch, folder: Path, url: str) -> None:
    configuration = folder / "jgo.conf"
    configuration.write_text(f"[repositories]\ncentral = {url}\n")
    monkeypatch.setenv("JGO_CONFIG_FILE", str(configuration))


def test_every_jar_has_a_checksum() -> None:
    known = checksums()
    assert {"kafka_2.13-4.4.0.jar", "kafka-clients-4.4.0.jar", "slf4j-simple-1.7.36.jar"} <= known.keys()
    assert all(len(bytes.fromhex(digest)) == 32 for digest in known.values())


def test_jars_that_were_fetched_before_are_taken_without_a_word(tmp_path: Path) -> None:
    folder = tmp_path / "kafka-4.4.0"
    folder.mkdir()
    for name in checksums():
        (folder / name).touch()
    said: list[str] = []
    assert kafka_jars(tmp_path, said.append) == folder
    assert said == []


def test_a_folder_that_lost_a_jar_is_told_to_be_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "kafka-4.4.0"
    folder.mkdir()
    with pytest.raises(BrokerError, match=r"kafka-4\.4\.0 .*: delete it"):
        kafka_jars(tmp_path, print)


def test_a_repository_that_does_not_answer_is_named_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_mirror(monkeypatch, tmp_path, "http://127.0.0.1:1/maven")
    cache = tmp_path / "cache"
    with pytest.raises(BrokerError, match=r"from http://127\.0\.0\.1:1/maven: .*jgo\.conf") as caught:
        kafka_jars(cache, print)
    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_a_jar_with_another_checksum_is_refused_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign_repository: str
) -> None:
    use_mirror(monkeypatch, tmp_path, foreign_repository)
    cache = tmp_path / "cache"
    said: list[str] = []
    with pytest.raises(BrokerError, match=r"^kafka_2\.13-4\.4\.0\.jar .*SHA-256"):
        kafka_jars(cache, said.append)
    assert list(cache.iterdir()) == []
    assert said[0].startswith("Fetching Apache Kafka 4.4.0")
    assert said[-1] == "Fetched 2 of 2 jars"


@pytest.mark.parametrize("package", ["platformdirs", "jgo.config"])
def test_without_the_extra_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BrokerError, match=r"pip install 'pulsetrain\[kafka\]'"):
        kafka_jars(tmp_path, print) if package.startswith("jgo") else cache_folder()
