"""One Faust app per stage, with the settings that the stages rely on."""

import logging
import tempfile
from pathlib import Path

import faust
from faust.auth import SASLCredentials, SSLCredentials
from faust.types.auth import CredentialsT

from pulsetrain.schemas.kafka import KafkaSettings, aiokafka_security
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.faust_monitor import QuietMonitor
from pulsetrain.streams.faust_transport import DirectTransport
from pulsetrain.streams.partitioner import partition_of_key

SESSION_TIMEOUT_SECONDS = 10.0
"""A killed worker's partitions are taken over after this time (Faust's default is 60 s)."""

HEARTBEAT_SECONDS = 3.0
COMMIT_INTERVAL_SECONDS = 1.0
PRODUCER_LINGER_SECONDS = 0.01
MAX_REQUEST_BYTES = 8_000_000
COMPRESSION = "snappy"
"""Feature windows shrink to 67 % in 0.3 us a kB; aiokafka's lz4, at level 9, takes 8 us a kB to get to 61 %."""

BATCH_BYTES = 256 * 1024
"""Room for several feature windows in a batch, within the smallest message limit of the topics."""


def make_app(
    stage: str, kafka: KafkaSettings, topics: TopicNames, partitions: int, *, declare_topics: bool
) -> faust.App:
    """The Faust app of a stage; its consumer group is `<prefix><stage>`.

    Args:
        declare_topics: whether Faust may create the changelog topics of its tables; the embedded broker creates
            topics on first use and has no admin API.
    """
    app = faust.App(
        f"{topics.prefix}{stage}",
        broker=[f"kafka://{address.strip()}" for address in kafka.bootstrap.split(",")],
        broker_credentials=_credentials(kafka),
        broker_session_timeout=SESSION_TIMEOUT_SECONDS,
        broker_heartbeat_interval=HEARTBEAT_SECONDS,
        broker_commit_interval=COMMIT_INTERVAL_SECONDS,
        producer_linger=PRODUCER_LINGER_SECONDS,
        producer_compression_type=COMPRESSION,
        producer_max_request_size=MAX_REQUEST_BYTES,
        producer_max_batch_size=BATCH_BYTES,
        producer_partitioner=partition_of_key,
        consumer_auto_offset_reset="earliest",
        # A worker must not wait at revocation for messages that it holds until a window closes: they are delivered
        # again to whoever gets the partition.
        stream_wait_empty=False,
        topic_partitions=partitions,
        topic_allow_declare=declare_topics,
        topic_disable_leader=True,
        store="memory://",
        Monitor=QuietMonitor,
        web_enabled=False,
        datadir=str(Path(tempfile.gettempdir()) / "pulsetrain-faust"),
        autodiscover=False,
        worker_redirect_stdouts=False,
        logging_config={"version": 1, "disable_existing_loggers": False},
        loghandlers=logging.getLogger().handlers,
    )
    app.transport = DirectTransport(app.conf.broker_consumer, app)
    return app


def _credentials(kafka: KafkaSettings) -> CredentialsT | None:
    security = aiokafka_security(kafka)
    protocol = str(security.get("security_protocol", "PLAINTEXT"))
    if protocol.startswith("SASL"):
        return SASLCredentials(
            username=security.get("sasl_plain_username"),
            password=security.get("sasl_plain_password"),
            ssl_context=security.get("ssl_context"),
            mechanism=security.get("sasl_mechanism"),
        )
    if protocol == "SSL":
        return SSLCredentials(context=security["ssl_context"])
    return None
