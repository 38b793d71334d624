import socket
from pathlib import Path

import pytest

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.cli.brokers.errors import BrokerError


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BrokerError, match=f"Port {port} on 127.0.0.1 is taken"), ApacheKafka(port=port):
            pass


def test_there_is_no_address_before_the_start() -> None:
    with pytest.raises(BrokerError, match="with block"):
        _ = ApacheKafka().bootstrap


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    data_dir = tmp_path / "file" / "data"
    with pytest.raises(BrokerError, match=f"data in {data_dir}"), ApacheKafka(data_dir):
        pass
