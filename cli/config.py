"""The configuration: read once at the start, frozen, passed down.

Built-in values, a TOML file, environment variables and flags; what comes later in this list wins.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pulsetrain.agents.settings import AgentSettings
from pulsetrain.cli.config_sources import (
    VARIABLE_PREFIX,
    Key,
    Setting,
    SettingKeys,
    environment_settings,
    file_settings,
    flag_settings,
)
from pulsetrain.cli.errors import ConfigError
from pulsetrain.schemas.errors import SchemaError
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import DEFAULT_PARTITIONS, DEFAULT_PREFIX, TopicNames
from pulsetrain.streams.settings import WorkerSettings

CONFIG_VARIABLE = f"{VARIABLE_PREFIX}CONFIG"
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

_BUILT_IN = "built-in settings"
_SECURITY = ("kafka", "security")

# What Kafka allows in a topic's name; the longest of ours has 11 characters of the 249.
_PREFIX = re.compile(r"[A-Za-z0-9._-]{0,200}")
_Partitions = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
_PATH_IN_ERROR = re.compile(r" - at `\$[^`]*`$")


class TopicSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`prefix` begins every topic's name; `partitions` is the number that the partitioned topics have."""

    prefix: str = DEFAULT_PREFIX
    partitions: _Partitions = DEFAULT_PARTITIONS

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError(
                f"topics.prefix {self.prefix!r} must be letters, digits, '.', '_' and '-' only, 200 at most"
            )

    @property
    def names(self) -> TopicNames:
        """The topics' names under the prefix."""
        return TopicNames(self.prefix)


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. Shown or logged, it keeps its secrets to itself."""

    kafka: KafkaSettings
    topics: TopicSettings
    agent: AgentSettings
    worker: WorkerSettings


def load_config(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[Key, Any] | None = None,
) -> Config:
    """The configuration of this run.

    Args:
        file: TOML file; without one, the file that the variable PULSETRAIN_CONFIG names, if any.
        environment: variables; `PULSETRAIN_SECTION__NAME` sets `name` of `section`.
        flags: values by key (`("kafka", "bootstrap")`); None stands for a flag that was not given.

    Raises:
        ConfigError: something in it can't be used; the message names the file, variable or flag, and the setting.
    """
    environment = environment or {}
    keys = SettingKeys(Config, dotted=_SECURITY)
    if file is None and environment.get(CONFIG_VARIABLE):
        file = Path(environment[CONFIG_VARIABLE])
    settings: dict[Key, Setting] = {("kafka", "bootstrap"): Setting(DEFAULT_BOOTSTRAP, _BUILT_IN)}
    if file is not None:
        settings |= file_settings(file, keys)
    settings |= environment_settings(environment, keys)
    settings |= flag_settings(flags or {}, keys)
    return Config(
        **{field.name: _section(field.name, field.type, settings) for field in msgspec.structs.fields(Config)}
    )


def _section(name: str, section_type: Any, settings: Mapping[Key, Setting]) -> Any:
    own = {key[1:]: setting for key, setting in settings.items() if key[0] == name}
    values: dict[str, Any] = {}
    for key, setting in own.items():
        table = values
        for part in key[:-1]:
            table = table.setdefault(part, {})
        table[key[-1]] = setting.value
    try:
        return msgspec.convert(values, section_type)
    except (msgspec.ValidationError, SchemaError) as error:
        origins = sorted({setting.origin for setting in own.values()} - {_BUILT_IN}) or [_BUILT_IN]
        sentence = _PATH_IN_ERROR.sub("", str(error)).rstrip(".")
        raise ConfigError(f"{', '.join(origins)}: {sentence}.") from error
