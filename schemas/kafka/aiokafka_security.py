"""The same security settings for clients built on aiokafka, such as Faust's workers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsetrain.schemas.kafka.settings import KafkaSettings, SettingsError

if TYPE_CHECKING:
    # OpenSSL is 4 MiB, which the node agent, with librdkafka's own, need not hold.
    import ssl

# librdkafka's word for the certificates that the machine trusts.
_SYSTEM_AUTHORITIES = "probe"
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")
_SASL_ARGUMENTS = {
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
}
_EXPRESSIBLE = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.mechanisms",
        *_SASL_ARGUMENTS,
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
        "enable.ssl.certificate.verification",
    }
)


def aiokafka_security(settings: KafkaSettings) -> dict[str, Any]:
    """Keyword arguments of aiokafka's clients that say what `settings.security` says to librdkafka.

    Returns:
        security_protocol, and as far as they apply ssl_context, sasl_mechanism, sasl_plain_username,
        sasl_plain_password and sasl_kerberos_service_name.

    Raises:
        SettingsError: aiokafka can't do what a property asks for, or a file can't be used.
    """
    for name in settings.security:
        if name not in _EXPRESSIBLE:
            raise SettingsError(
                f"The stream workers can't follow {name}, for which aiokafka has no counterpart: leave it out. "
                f"They know {', '.join(sorted(_EXPRESSIBLE))}."
            )
    arguments: dict[str, Any] = {"security_protocol": settings.security_protocol.upper()}
    if settings.security_protocol.endswith("ssl"):
        arguments["ssl_context"] = _ssl_context(settings.security)
    if settings.security_protocol.startswith("sasl"):
        if settings.sasl_mechanism not in _MECHANISMS:
            raise SettingsError(
                f"The stream workers can't log in with sasl.mechanism {settings.sasl_mechanism}: aiokafka has "
                f"{', '.join(_MECHANISMS)}."
            )
        arguments["sasl_mechanism"] = settings.sasl_mechanism
        for name, argument in _SASL_ARGUMENTS.items():
            if name in settings.security:
                arguments[argument] = settings.security[name]
    return arguments


def _ssl_context(security: Mapping[str, str]) -> ssl.SSLContext:
    import ssl

    context = _trusting(security.get("ssl.ca.location", _SYSTEM_AUTHORITIES))
    if certificate := security.get("ssl.certificate.location"):
        key = security.get("ssl.key.location")
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(certificate, key, security.get("ssl.key.password", ""))
        except OSError as error:
            raise SettingsError(
                f"The client certificate can't be used ({error}): check ssl.certificate.location "
                f"{certificate!r}, ssl.key.location {key!r} and ssl.key.password."
            ) from error
    if not _is_on(security, "enable.ssl.certificate.verification", "true", "false"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not _is_on(security, "ssl.endpoint.identification.algorithm", "https", "none"):
        context.check_hostname = False
    return context


def _trusting(authorities: str) -> ssl.SSLContext:
    import ssl

    if authorities == _SYSTEM_AUTHORITIES:
        return ssl.create_default_context()
    try:
        if Path(authorities).is_dir():
            return ssl.create_default_context(capath=authorities)
        return ssl.create_default_context(cafile=authorities)
    except OSError as error:
        raise SettingsError(
            f"The certificates in ssl.ca.location {authorities!r} can't be used ({error}): name a PEM file."
        ) from error


def _is_on(security: Mapping[str, str], name: str, on: str, off: str) -> bool:
    text = security.get(name, on).lower()
    if text not in (on, off):
        raise SettingsError(f"{name} {text!r} is neither {on} nor {off}.")
    return text == on
