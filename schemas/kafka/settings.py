"""Where Kafka is and how to get in: one settings object for every client.

Security settings carry librdkafka's property names (`sasl.password`, `ssl.ca.location` ...).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from pulsetrain.schemas.errors import SchemaError

_DEFAULT_PORT = 9092
_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_SECURITY_PREFIXES = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.", "https.ca.")
_SERVER = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:,/\[\]]+)(?::(\d{1,5}))?")

# Everything else is masked: a property that nobody thought of may hold a secret.
_SHOWN = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.username",
        "sasl.kerberos.service.name",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.endpoint.identification.algorithm",
        "enable.ssl.certificate.verification",
    }
)


class SettingsError(SchemaError):
    """A setting can't work; the message names it and says what it may be."""


class KafkaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Address and security of a Kafka cluster. Shown or logged, it keeps its secrets to itself.

    Args:
        bootstrap: `host:port`, several separated by commas.
        security: librdkafka's security properties by name (`security.protocol`, `sasl.*`, `ssl.*`).

    Raises:
        SettingsError: one of them can't work.
    """

    bootstrap: str
    security: dict[str, str] = {}

    def __post_init__(self) -> None:
        _check_bootstrap(self.bootstrap)
        _check_security(self.security)

    @property
    def security_protocol(self) -> str:
        """`plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`."""
        return _protocol(self.security)

    @property
    def sasl_mechanism(self) -> str:
        """`PLAIN`, `SCRAM-SHA-256` ...; empty without SASL."""
        return _mechanism(self.security)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        shown = {name: text if name in _SHOWN else "***" for name, text in self.security.items()}
        return [("bootstrap", self.bootstrap), ("security", shown)]

    def __repr__(self) -> str:
        return f"KafkaSettings({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    __str__ = __repr__


def _protocol(security: Mapping[str, str]) -> str:
    return security.get("security.protocol", "plaintext").lower()


def _mechanism(security: Mapping[str, str]) -> str:
    """librdkafka takes the name in the singular and in the plural."""
    return (security.get("sasl.mechanism") or security.get("sasl.mechanisms") or "").upper()


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_bootstrap(bootstrap: str) -> None:
    if not bootstrap:
        raise SettingsError("No Kafka address is given: set bootstrap to host:port of a broker.")
    if not bootstrap.isascii() or not bootstrap.isprintable():
        raise SettingsError(f"bootstrap {bootstrap!r} is no address: host names have ASCII letters only (xn--...).")
    for server in bootstrap.split(","):
        found = _SERVER.fullmatch(server)
        if found is None or not 0 < int(found[1] or _DEFAULT_PORT) < 65_536:
            raise SettingsError(
                f"{server!r} in bootstrap {bootstrap!r} is no address of a broker: write host:port, "
                "several separated by commas without spaces."
            )


def _check_security(security: Mapping[str, str]) -> None:
    for name, value in security.items():
        if not name.startswith(_SECURITY_PREFIXES) or not name.isascii() or "\0" in name:
            raise SettingsError(
                f"{name!r} is no security property of librdkafka: their names start with "
                f"{', '.join(_SECURITY_PREFIXES)}."
            )
        # librdkafka's texts end at a byte 0, and what UTF-8 can't carry makes its Python client fail or crash.
        if "\0" in value or not _is_utf8(value):
            raise SettingsError(f"{name} has a character that is no text: check how the file or variable is encoded.")
    protocol = _protocol(security)
    if protocol not in _PROTOCOLS:
        raise SettingsError(f"security.protocol {protocol!r} is none of {', '.join(_PROTOCOLS)}.")
    # librdkafka would ignore these and send in clear text what was meant to be protected.
    for family, protocols in (("ssl", ("ssl", "sasl_ssl")), ("sasl", ("sasl_plaintext", "sasl_ssl"))):
        unused = [name for name in security if name.startswith(f"{family}.")]
        if unused and protocol not in protocols:
            raise SettingsError(
                f"{unused[0]} has no effect with security.protocol {protocol!r}: "
                f"set security.protocol to {' or '.join(protocols)}."
            )
    if protocol.startswith("sasl") and not _mechanism(security):
        raise SettingsError(
            f"security.protocol {protocol!r} needs sasl.mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 ..."
        )
