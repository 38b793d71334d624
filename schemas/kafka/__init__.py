"""How every client reaches Kafka: address, security, partitioner, and patience at start."""

from pulsetrain.schemas.kafka.aiokafka_security import aiokafka_security
from pulsetrain.schemas.kafka.librdkafka import (
    PARTITIONER,
    admin_config,
    checked_key,
    consumer_config,
    producer_config,
)
from pulsetrain.schemas.kafka.settings import KafkaSettings, SettingsError
from pulsetrain.schemas.kafka.topic_check import TopicsError, wait_for_topics
from pulsetrain.schemas.kafka.waiting import BrokerUnavailableError, wait_for_broker

__all__ = [
    "PARTITIONER",
    "BrokerUnavailableError",
    "KafkaSettings",
    "SettingsError",
    "TopicsError",
    "admin_config",
    "aiokafka_security",
    "checked_key",
    "consumer_config",
    "producer_config",
    "wait_for_broker",
    "wait_for_topics",
]
