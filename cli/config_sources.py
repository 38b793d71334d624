"""Where settings come from: a TOML file, environment variables and flags, each value checked where it is read."""

import difflib
import math
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_origin

import msgspec

from pulsetrain.cli.errors import ConfigError

VARIABLE_PREFIX = "PULSETRAIN_"
MAX_FILE_BYTES = 1_000_000

_SHOWN_CHARACTERS = 60

Key = tuple[str, ...]
"""Names from section to setting, e.g. ("worker", "windows", "hop_seconds")."""


class Setting(NamedTuple):
    """One value and the file, variable or flag that gave it."""

    value: Any
    origin: str


class SettingKeys:
    """Every setting of a configuration type, by key.

    A struct-typed field is a section. A field that is a dict of strings is open: each of its names is a setting.

    Args:
        config_type: a struct of sections.
        dotted: the open field whose names contain dots, which variables spell as underscores.
    """

    def __init__(self, config_type: type[msgspec.Struct], dotted: Key) -> None:
        self._dotted = dotted
        self._types = dict(_settings(config_type, ()))
        self._sections = {key[:length] for key in self._types for length in range(len(key))}

    def type_of(self, key: Key) -> Any:
        """The type of a setting; None for a name that is none."""
        if self.is_open(key[:-1]):
            return str
        return None if self.is_open(key) else self._types.get(key)

    def is_open(self, key: Key) -> bool:
        """Whether any name may follow."""
        return get_origin(self._types.get(key)) is dict

    def of_variable(self, variable: str) -> Key:
        """The key that an environment variable names."""
        *section, name = variable.removeprefix(VARIABLE_PREFIX).lower().split("__")
        key = tuple(section)
        return (*key, name.replace("_", ".") if key == self._dotted else name)

    def is_section(self, key: Key) -> bool:
        """Whether settings or further sections follow."""
        return key in self._sections

    def unknown(self, key: Key, origin: str) -> ConfigError:
        """The error for a key that is no setting, with what was probably meant."""
        while key[:-1] not in self._sections:
            key = key[:-1]
        *section, name = key
        names = (*self._types, *self._sections)
        siblings = sorted({one[len(section)] for one in names if one[: len(section)] == tuple(section) != one})
        elsewhere = sorted({".".join(one) for one in self._types if one[-1] == name})
        if close := difflib.get_close_matches(name, siblings, n=1):
            hint = f"did you mean {'.'.join([*section, *close])}"
        elif elsewhere:
            hint = f"did you mean {' or '.join(elsewhere)}"
        else:
            hint = f"known here: {', '.join(siblings)}"
        return ConfigError(f"{origin}: there is no setting {'.'.join(key)}; {hint}.")

    def meant_by(self, variable: str) -> str | None:
        """The variable of a setting that was spelled with too few underscores."""
        for key in self._types:
            name = variable_name(key)
            if name.replace("__", "_") == variable:
                return name
        return None


def _settings(struct: type[msgspec.Struct], section: Key) -> Iterator[tuple[Key, Any]]:
    for field in msgspec.structs.fields(struct):
        key = (*section, field.encode_name)
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _settings(field.type, key)
        else:
            yield key, field.type


def variable_name(key: Key) -> str:
    """The environment variable of a setting."""
    return VARIABLE_PREFIX + "__".join(key).upper()


def file_settings(path: Path, keys: SettingKeys) -> dict[Key, Setting]:
    """The settings of a TOML file.

    Raises:
        ConfigError: it can't be read, is no TOML, or a key or value can't be used.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_BYTES + 1)
        if len(text) > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: a configuration has at most {MAX_FILE_BYTES} bytes.")
        table = tomllib.loads(text.decode())
    except OSError as error:
        raise ConfigError(f"{path}: the configuration can't be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: this is no TOML: {error}.") from error
    return {key: _checked(key, value, str(path), keys) for key, value in _flat(table, (), str(path), keys)}


def _flat(table: Mapping[str, Any], section: Key, origin: str, keys: SettingKeys) -> Iterator[tuple[Key, Any]]:
    for name, value in table.items():
        key = (*section, name)
        if keys.is_open(key) and isinstance(value, dict):
            for property_name, text in _dotted(value):
                yield (*key, property_name), text
        elif keys.type_of(key) is not None:
            yield key, value
        elif not (keys.is_section(key) or keys.is_open(key)):
            raise keys.unknown(key, origin)
        elif not isinstance(value, dict):
            raise ConfigError(f"{origin}: {'.'.join(key)} is a table: write [{'.'.join(key)}] and settings under it.")
        else:
            yield from _flat(value, key, origin, keys)


def _dotted(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`sasl.password = "x"` is a nested table to TOML, and one name to librdkafka; so is `flag = true` one text."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{name}.")
        elif isinstance(value, bool | int):
            yield prefix + name, str(value).lower()
        else:
            yield prefix + name, value


def environment_settings(environment: Mapping[str, str], keys: SettingKeys) -> dict[Key, Setting]:
    """The settings of `PULSETRAIN_SECTION__NAME` variables; what is no text is written as in JSON.

    An open field may be given as one JSON object, whose names keep their case; a variable of a single name wins
    over it. Variables without a double underscore are not ours (Kubernetes makes some for a service named pulsetrain).

    Raises:
        ConfigError: a name or value can't be used.
    """
    tables: dict[Key, Setting] = {}
    settings: dict[Key, Setting] = {}
    for variable, text in environment.items():
        if not variable.startswith(VARIABLE_PREFIX):
            continue
        if "__" not in variable:
            if meant := keys.meant_by(variable):
                raise ConfigError(f"{variable}: this setting is spelled {meant}, with two underscores.")
            continue
        key = keys.of_variable(variable)
        if keys.is_open(key):
            for name, value in _names_of_object(key, text, variable, keys):
                tables[*key, name] = _checked((*key, name), value, variable, keys)
        elif keys.type_of(key) is None:
            raise keys.unknown(key, variable)
        else:
            settings[key] = _checked(key, text, variable, keys, from_text=True)
    return tables | settings


def _names_of_object(key: Key, text: str, variable: str, keys: SettingKeys) -> list[tuple[str, Any]]:
    try:
        return list(_dotted(msgspec.json.decode(text, type=dict[str, Any])))
    except (msgspec.DecodeError, RecursionError) as error:
        reason = f'a JSON object such as {{"name": "text"}} is needed ({error})'
        raise _unusable(key, text, variable, reason, keys) from error


def flag_settings(flags: Mapping[Key, Any], keys: SettingKeys) -> dict[Key, Setting]:
    """The settings of the flags that were given (are not None); a flag is named after the last part of its key.

    Raises:
        ConfigError: a value can't be used.
    """
    given = {key: value for key, value in flags.items() if value is not None}
    return {key: _checked(key, value, f"--{key[-1]}", keys) for key, value in given.items()}


def _checked(key: Key, value: Any, origin: str, keys: SettingKeys, *, from_text: bool = False) -> Setting:
    expected = keys.type_of(key)
    try:
        if from_text and expected is not str and (value.startswith(("{", "[")) or value == "null"):
            checked = msgspec.json.decode(value, type=expected)
        else:
            checked = msgspec.convert(value, expected, strict=not from_text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unusable(key, value, origin, str(error), keys) from error
    if isinstance(checked, float) and not math.isfinite(checked):
        raise _unusable(key, value, origin, "a finite number is needed", keys)
    return Setting(msgspec.to_builtins(checked), origin)


def _unusable(key: Key, value: Any, origin: str, reason: str, keys: SettingKeys) -> ConfigError:
    # A password among the names of an open setting must not be shown.
    shown = "" if keys.is_open(key) or keys.is_open(key[:-1]) else f" = {str(value)[:_SHOWN_CHARACTERS]!r}"
    return ConfigError(f"{origin}: {'.'.join(key)}{shown} can't be used: {reason[:1].lower()}{reason[1:]}.")
