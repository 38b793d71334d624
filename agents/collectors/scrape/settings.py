"""Settings of one scrape target."""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

import msgspec

from pulsetrain.schemas.identity import MAX_LABEL_CHARACTERS

MAX_TARGETS = 32

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_METRIC_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]{0,199}")
_MAX_URL_CHARACTERS = 2048
_MAX_KEPT = 1000
_MAX_LABELS = 32
_MIN_INTERVAL_MS, _MAX_INTERVAL_MS = 1000, 3_600_000
_MIN_TIMEOUT_SECONDS, _MAX_TIMEOUT_SECONDS = 0.1, 60.0


class ScrapeTarget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One endpoint with an OpenMetrics or Prometheus exposition.

    `name`: short and unique; it names the collector (`scrape_<name>`) and what the exporter says about itself. `url`:
    the whole address, with the path. `interval_ms`: distance of two scrapes; 15 s, which is what most exporters are set
    up for. `timeout_seconds`: of a whole scrape. `labels`: added to whatever is scraped. `keep`: names of the exporter
    that the catalogue has no name for and that are wanted all the same; everything else without a name is left out.
    `bearer_token_file`: a file whose content is sent as a bearer token, read anew for each scrape. `ca_file`:
    certificates that sign the server's; the system's by default.

    Raises:
        ValueError: a setting can't work.
    """

    name: str
    url: str
    interval_ms: int = 15_000
    timeout_seconds: float = 5.0
    labels: dict[str, str] = {}
    keep: tuple[str, ...] = ()
    bearer_token_file: str | None = None
    ca_file: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"scrape.name {self.name!r} must be letters, digits, '_', '.' and '-' only, 63 at most")
        address = self._checked_url()
        if self.ca_file is not None and address.scheme != "https":
            raise ValueError(f"scrape.{self.name}.ca_file needs an https address")
        if self.bearer_token_file is not None and address.scheme != "https" and not _is_this_machine(address):
            raise ValueError(f"scrape.{self.name}.bearer_token_file needs an https address: the token is a secret")
        self._check_range("interval_ms", self.interval_ms, _MIN_INTERVAL_MS, _MAX_INTERVAL_MS)
        self._check_range("timeout_seconds", self.timeout_seconds, _MIN_TIMEOUT_SECONDS, _MAX_TIMEOUT_SECONDS)
        self._check_labels()
        if len(self.keep) > _MAX_KEPT:
            raise ValueError(f"scrape.{self.name}.keep has {len(self.keep)} names; at most {_MAX_KEPT} are allowed")
        for kept in self.keep:
            if not _METRIC_NAME.fullmatch(kept):
                raise ValueError(f"scrape.{self.name}.keep: {kept!r} is no name of a metric")

    @property
    def address(self) -> SplitResult:
        """The parts of the url."""
        return urlsplit(self.url)

    def _checked_url(self) -> SplitResult:
        problem = None
        if len(self.url) > _MAX_URL_CHARACTERS or not self.url.isascii() or not self.url.isprintable():
            problem = f"must be printable ASCII, {_MAX_URL_CHARACTERS} characters at most"
        else:
            try:
                address = self.address
                has_host = bool(address.hostname) and address.port != 0
            except ValueError as error:
                raise ValueError(f"scrape.{self.name}.url is no address: {error}") from error
            if address.scheme not in ("http", "https") or not has_host or " " in self.url:
                problem = "must be like http://host:port/path or https://host:port/path"
            elif address.username is not None or address.password is not None:
                problem = "must not contain a user or password; use bearer_token_file"
            elif address.fragment:
                problem = "must not contain '#'"
        if problem:
            raise ValueError(f"scrape.{self.name}.url {problem}")
        return address

    def _check_labels(self) -> None:
        if len(self.labels) > _MAX_LABELS:
            raise ValueError(f"scrape.{self.name}.labels has more than {_MAX_LABELS} entries")
        for key, value in self.labels.items():
            if not key or max(len(key), len(value)) > MAX_LABEL_CHARACTERS:
                raise ValueError(
                    f"scrape.{self.name}.labels: {key[:MAX_LABEL_CHARACTERS]!r} must have a name, and name and value "
                    f"at most {MAX_LABEL_CHARACTERS} characters"
                )

    def _check_range(self, setting: str, value: float, smallest: float, largest: float) -> None:
        if not smallest <= value <= largest:
            raise ValueError(
                f"scrape.{self.name}.{setting} is {value:g}; it must lie between {smallest:g} and {largest:g}"
            )


def check_targets(targets: tuple[ScrapeTarget, ...]) -> None:
    """Whether several targets go together.

    Raises:
        ValueError: there are too many, or two have the same name.
    """
    if len(targets) > MAX_TARGETS:
        raise ValueError(f"agent.scrape has {len(targets)} targets; at most {MAX_TARGETS} are allowed")
    names = [target.name for target in targets]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"agent.scrape has two targets with the name {name!r}")


def _is_this_machine(address: SplitResult) -> bool:
    host = address.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
