"""The configuration: which source wins, and one clear sentence for each kind of mistake."""

from pathlib import Path
from typing import Any

import pytest

from pulsetrain.cli.config import Config, load_config
from pulsetrain.cli.config_sources import MAX_FILE_BYTES
from pulsetrain.cli.errors import ConfigError


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / "pulsetrain.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def refusal(file: Path | None = None, environment: dict[str, str] | None = None, **flags: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(
            file,
            environment,
            {("kafka", "bootstrap"): flags.get("bootstrap"), ("topics", "prefix"): flags.get("prefix")},
        )
    message = str(caught.value)
    assert "\n" not in message
    assert "$" not in message
    return message


def test_without_any_source_the_built_in_values_hold() -> None:
    config = load_config()
    assert config.kafka.bootstrap == "127.0.0.1:9092"
    assert config.kafka.security == {}
    assert (config.topics.prefix, config.topics.partitions) == ("pulsetrain.", 4)
    assert config.topics.names.dead_letter == "pulsetrain.dead-letter"
    assert config.agent.interval_ms == 100
    assert (config.worker.windows.length_seconds, config.worker.windows.hop_seconds) == (30.0, 5.0)


def test_every_section_can_be_set_in_the_file(tmp_path: Path) -> None:
    config = load_config(
        write(
            tmp_path,
            """
            [kafka]
            bootstrap = "kafka-0:9093,kafka-1:9093"
            [kafka.security]
            security.protocol = "sasl_ssl"
            "sasl.mechanism" = "SCRAM-SHA-512"
            sasl.username = "pulsetrain"
            sasl.password = "secret"
            enable.ssl.certificate.verification = false
            [topics]
            prefix = "site-a."
            partitions = 12
            [agent]
            interval_ms = 500
            [agent.labels]
            job = "llama"
            rank = 3
            [worker]
            heartbeat_seconds = 5
            [worker.windows]
            hop_seconds = 2.5
            [worker.features]
            mean = []
            autocorrelation = [{ lag = 1 }, { lag = 5 }]
            """,
        )
    )
    assert config.kafka.bootstrap == "kafka-0:9093,kafka-1:9093"
    assert config.kafka.security == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "pulsetrain",
        "sasl.password": "secret",
        "enable.ssl.certificate.verification": "false",
    }
    assert (config.topics.prefix, config.topics.partitions) == ("site-a.", 12)
    assert (config.agent.interval_ms, config.agent.labels) == (500, {"job": "llama", "rank": "3"})
    assert config.worker.heartbeat_seconds == 5.0
    assert (config.worker.windows.length_seconds, config.worker.windows.hop_seconds) == (30.0, 2.5)
    assert config.worker.features == {"mean": [], "autocorrelation": [{"lag": 1}, {"lag": 5}]}


def test_a_variable_wins_over_the_file_and_a_flag_over_both(tmp_path: Path) -> None:
    file = write(tmp_path, '[kafka]\nbootstrap = "file:1"\n[topics]\nprefix = "file."\npartitions = 2\n')
    environment = {"PULSETRAIN_KAFKA__BOOTSTRAP": "variable:1", "PULSETRAIN_TOPICS__PREFIX": "variable."}
    config = load_config(file, environment, {("kafka", "bootstrap"): "flag:1", ("topics", "prefix"): None})
    assert config.kafka.bootstrap == "flag:1"
    assert (config.topics.prefix, config.topics.partitions) == ("variable.", 2)


def test_the_file_may_be_named_by_a_variable_and_the_flag_wins(tmp_path: Path) -> None:
    environment = {"PULSETRAIN_CONFIG": str(write(tmp_path, "[topics]\npartitions = 7\n"))}
    assert load_config(None, environment).topics.partitions == 7
    other = tmp_path / "other.toml"
    other.write_text("[topics]\npartitions = 8\n")
    assert load_config(other, environment).topics.partitions == 8


def test_variables_reach_every_kind_of_setting() -> None:
    config = load_config(
        None,
        {
            "PULSETRAIN_KAFKA__SECURITY__SECURITY_PROTOCOL": "sasl_ssl",
            "PULSETRAIN_KAFKA__SECURITY__SASL_MECHANISM": "PLAIN",
            "PULSETRAIN_KAFKA__SECURITY__SASL_PASSWORD": "[not json]",
            "PULSETRAIN_WORKER__WINDOWS__LENGTH_SECONDS": "10",
            "PULSETRAIN_WORKER__DECLARE_TOPICS": "false",
            "PULSETRAIN_WORKER__FEATURES": '{"mean": null, "c3": [{"lag": 3}]}',
            "PULSETRAIN_AGENT__NODE": "node-00",
            "PULSETRAIN_AGENT__LABELS__RACK_ID": "7",
        },
    )
    assert config.kafka.security["security.protocol"] == "sasl_ssl"
    assert config.kafka.security["sasl.password"] == "[not json]"
    assert config.worker.windows.length_seconds == 10.0
    assert config.worker.declare_topics is False
    assert config.worker.features == {"mean": None, "c3": [{"lag": 3}]}
    assert (config.agent.node, config.agent.labels) == ("node-00", {"rack_id": "7"})


def test_an_open_table_is_one_variable_in_json_and_its_names_keep_their_case() -> None:
    config = load_config(
        None,
        {
            "PULSETRAIN_AGENT__LABELS__RANK": "4",
            "PULSETRAIN_AGENT__LABELS": '{"job": "x", "rackId": 7, "spot": true, "rank": "3"}',
            "PULSETRAIN_AGENT__LABELS__ZONE": "b",
            "PULSETRAIN_KAFKA__SECURITY": '{"security.protocol": "sasl_ssl", "sasl": {"mechanism": "PLAIN"}}',
        },
    )
    assert config.agent.labels == {"job": "x", "rackId": "7", "spot": "true", "rank": "4", "zone": "b"}
    assert config.kafka.security == {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN"}


def test_names_of_a_table_in_the_file_and_in_a_variable_are_joined(tmp_path: Path) -> None:
    file = write(tmp_path, '[agent.labels]\njob = "file"\nrack = "7"\n')
    config = load_config(file, {"PULSETRAIN_AGENT__LABELS": '{"job": "variable"}'})
    assert config.agent.labels == {"job": "variable", "rack": "7"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", 'a JSON object such as {"name": "text"} is needed ('),
        ("job=hunter2", "a JSON object such as"),
        ('{"sasl.password": "hunter2"', "a JSON object such as"),
        ('["hunter2"]', "a JSON object such as"),
        ("null", "a JSON object such as"),
        ('{"a":' * 100_000, "a JSON object such as"),
    ],
)
def test_a_table_that_is_no_json_object_is_refused_without_showing_it(text: str, reason: str) -> None:
    message = refusal(None, {"PULSETRAIN_KAFKA__SECURITY": text})
    assert message.startswith(f"PULSETRAIN_KAFKA__SECURITY: kafka.security can't be used: {reason}")
    assert "hunter2" not in message


def test_a_value_in_a_table_that_is_no_text_is_named() -> None:
    message = refusal(None, {"PULSETRAIN_AGENT__LABELS": '{"job": ["a"]}'})
    assert message == "PULSETRAIN_AGENT__LABELS: agent.labels.job can't be used: expected `str`, got `array`."


def test_variables_that_kubernetes_makes_for_services_are_no_settings() -> None:
    load_config(None, {"PULSETRAIN_SERVICE_HOST": "10.0.0.1", "PULSETRAIN_KAFKA_PORT": "tcp://10.0.0.1:9092"})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[kafak]\nbootstrap = "a:1"', "there is no setting kafak; did you mean kafka."),
        ("[worker]\nwindow = 1", "there is no setting worker.window; did you mean worker.windows."),
        (
            "[worker.windows]\nhop_secs = 1",
            "there is no setting worker.windows.hop_secs; did you mean worker.windows.hop_seconds.",
        ),
        ("[topics]\nzzz = 1", "there is no setting topics.zzz; known here: partitions, prefix."),
        ("partitions = 3", "there is no setting partitions; did you mean topics.partitions."),
        ("[topics]\npartitions = '4'", "topics.partitions = '4' can't be used: expected `int`, got `str`."),
        ("[topics]\npartitions = true", "topics.partitions = 'True' can't be used: expected `int`, got `bool`."),
        ("[topics]\npartitions = 0", "topics.partitions = '0' can't be used: expected `int` >= 1."),
        ("[topics]\nprefix = 'a b'", "topics.prefix 'a b' must be letters, digits, '.', '_' and '-' only"),
        ('[topics]\nprefix = "a\\n"', r"topics.prefix 'a\n' must be letters"),
        ("topics = 4", "topics is a table: write [topics] and settings under it."),
        ("[kafka]\nsecurity = 4", "kafka.security is a table: write [kafka.security] and settings under it."),
        ("[worker.windows]\nhop_seconds = nan", "worker.windows.hop_seconds = 'nan' can't be used: a finite number"),
        ("[worker.windows]\nhop_seconds = inf", "worker.windows.hop_seconds = 'inf' can't be used: a finite number"),
        ("[worker.windows]\nhop_seconds = 0", "windows.hop_seconds must be greater than 0"),
        (
            "[worker.windows]\nhop_seconds = 60",
            "windows.hop_seconds must not be greater than windows.length_seconds.",
        ),
        ("[agent]\ninterval_ms = 1", "agent.interval_ms is 1; it must lie between 10 and 60000."),
        ('[kafka]\nbootstrap = ""', "No Kafka address is given: set bootstrap to host:port of a broker."),
        ('[kafka]\nbootstrap = "http://a:1"', "'http://a:1' in bootstrap 'http://a:1' is no address of a broker"),
        ('[kafka.security]\n"sasl.password" = ["hunter2"]', "kafka.security.sasl.password can't be used"),
        ('[kafka.security]\nssl.password = "hunter2"', "ssl.password has no effect with security.protocol"),
        ("[topics", "this is no TOML: "),
        ("a = 1\na = 2", "this is no TOML: "),
        (b"\xff\xfe", "this is no TOML: "),
        ("a = " + "[" * 100_000, "this is no TOML: "),
        ("#" * (MAX_FILE_BYTES + 1), f"a configuration has at most {MAX_FILE_BYTES} bytes."),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence_with_file_and_key(
    tmp_path: Path, text: str | bytes, sentence: str
) -> None:
    file = write(tmp_path, text)
    message = refusal(file)
    assert message.startswith(f"{file}: {sentence}")
    assert message.endswith(".")
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("variable", "text", "sentence"),
    [
        ("PULSETRAIN_TOPICS__PARTITIONS", "many", "topics.partitions = 'many' can't be used: expected `int`"),
        ("PULSETRAIN_TOPICS__PARTITIONS", "4.5", "topics.partitions = '4.5' can't be used: expected `int`"),
        ("PULSETRAIN_WORKER__DECLARE_TOPICS", "maybe", "worker.declare_topics = 'maybe' can't be used"),
        ("PULSETRAIN_WORKER__HEARTBEAT_SECONDS", "nan", "worker.heartbeat_seconds = 'nan' can't be used: a finite"),
        ("PULSETRAIN_WORKER__FEATURES", "{", "worker.features = '{' can't be used: "),
        ("PULSETRAIN_WORKER__WINDOW__HOP_SECONDS", "1", "there is no setting worker.window; did you mean"),
        ("PULSETRAIN_ZZZ__QQQ", "1", "there is no setting zzz; known here: agent, kafka, topics, worker."),
        ("PULSETRAIN___", "1", "there is no setting ; known here: agent, kafka, topics, worker."),
        ("PULSETRAIN_WORKER__WINDOWS", "{}", "there is no setting worker.windows"),
        ("PULSETRAIN_KAFKA__BOOTSTRAP", "a:b", "'a:b' in bootstrap 'a:b' is no address of a broker"),
        (
            "PULSETRAIN_KAFKA_BOOTSTRAP",
            "a:1",
            "this setting is spelled PULSETRAIN_KAFKA__BOOTSTRAP, with two underscores.",
        ),
    ],
)
def test_a_mistake_in_a_variable_is_one_sentence_with_its_name(variable: str, text: str, sentence: str) -> None:
    assert refusal(None, {variable: text}).startswith(f"{variable}: {sentence}")


def test_a_mistake_in_a_flag_is_one_sentence_with_its_name() -> None:
    assert refusal(bootstrap="a b").startswith("--bootstrap: 'a b' in bootstrap 'a b' is no address of a broker")
    assert refusal(prefix="a b").startswith("--prefix: topics.prefix 'a b' must be letters")


def test_a_file_that_can_not_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    assert refusal(missing) == f"{missing}: the configuration can't be read: No such file or directory."
    assert refusal(None, {"PULSETRAIN_CONFIG": str(missing)}) == refusal(missing)
    assert refusal(tmp_path) == f"{tmp_path}: the configuration can't be read: Is a directory."


def test_a_rule_over_several_settings_names_all_sources(tmp_path: Path) -> None:
    file = write(tmp_path, "[worker.windows]\nlength_seconds = 4\n")
    message = refusal(file, {"PULSETRAIN_WORKER__WINDOWS__HOP_SECONDS": "5"})
    assert message.startswith(f"{file}, PULSETRAIN_WORKER__WINDOWS__HOP_SECONDS: windows.hop_seconds must not be")


def test_a_configuration_shown_keeps_its_secrets() -> None:
    config = load_config(
        None,
        {
            "PULSETRAIN_KAFKA__SECURITY__SECURITY_PROTOCOL": "sasl_ssl",
            "PULSETRAIN_KAFKA__SECURITY__SASL_MECHANISM": "PLAIN",
            "PULSETRAIN_KAFKA__SECURITY__SASL_PASSWORD": "hunter2",
            "PULSETRAIN_KAFKA__SECURITY__SSL_KEY_PEM": "hunter2",
        },
    )
    assert config.kafka.security["sasl.password"] == "hunter2"
    for shown in (repr(config), str(config), f"{config}"):
        assert "hunter2" not in shown


def test_a_configuration_can_not_be_changed() -> None:
    config: Config = load_config()
    with pytest.raises(AttributeError):
        config.topics = config.topics  # type: ignore[misc]
