"""Settings of scrape targets, on their way from a file to the agent."""

from pathlib import Path
from typing import Any

import pytest

from pulsetrain.agents.collectors.scrape import ScrapeTarget, check_targets
from pulsetrain.cli.config import load_config
from pulsetrain.cli.errors import ConfigError

SECRETS = Path("/var/run/secrets")
URL = "http://127.0.0.1:9400/metrics"
TOML = """
[[agent.scrape]]
name = "dcgm"
url = "http://127.0.0.1:9400/metrics"
keep = ["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"]
labels = { rack = "r7" }

[[agent.scrape]]
name = "kubelet"
url = "https://127.0.0.1:10250/metrics/cadvisor"
interval_ms = 30000
bearer_token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token"
ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
"""


def test_a_file_names_each_target_in_a_table_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "pulsetrain.toml"
    path.write_text(TOML)
    dcgm, kubelet = load_config(path).agent.scrape
    assert (dcgm.name, dcgm.url, dcgm.interval_ms, dcgm.labels) == ("dcgm", URL, 15_000, {"rack": "r7"})
    assert dcgm.keep == ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",)
    assert (kubelet.interval_ms, kubelet.ca_file) == (30_000, "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt")


def test_a_variable_names_all_targets_as_json() -> None:
    variable = {"PULSETRAIN_AGENT__SCRAPE": f'[{{"name": "dcgm", "url": "{URL}"}}]'}
    assert [target.url for target in load_config(environment=variable).agent.scrape] == [URL]


def test_a_misspelled_setting_of_a_target_is_refused() -> None:
    variable = {"PULSETRAIN_AGENT__SCRAPE": f'[{{"name": "dcgm", "adress": "{URL}"}}]'}
    with pytest.raises(ConfigError, match="adress"):
        load_config(environment=variable)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": ""}, "scrape.name ''"),
        ({"name": "a b"}, "scrape.name 'a b'"),
        ({"url": "ftp://host/metrics"}, "must be like http"),
        ({"url": "http:///metrics"}, "must be like http"),
        ({"url": "127.0.0.1:9400"}, "must be like http"),
        ({"url": "http://host/a b"}, "must be like http"),
        ({"url": "http://host:99999/"}, "is no address"),
        ({"url": "http://[::1/"}, "is no address"),
        ({"url": "http://host/\r\nX: y"}, "printable ASCII"),
        ({"url": "http://host/\u00e9"}, "printable ASCII"),
        ({"url": "http://user:secret@host/"}, "must not contain a user or password"),
        ({"url": "http://host/#x"}, "must not contain '#'"),
        ({"url": "http://host/" + "x" * 2048}, "2048 characters at most"),
        ({"interval_ms": 999}, "interval_ms is 999; it must lie between 1000 and"),
        ({"timeout_seconds": 0.0}, "timeout_seconds is 0; it must lie between"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds is nan"),
        ({"keep": ("a-b",)}, "'a-b' is no name of a metric"),
        ({"keep": ("a",) * 1001}, "at most 1000"),
        ({"labels": {"": "x"}}, "must have a name"),
        ({"labels": {"x": "y" * 257}}, "at most 256 characters"),
        ({"labels": {str(number): "x" for number in range(33)}}, "more than 32 entries"),
        ({"ca_file": "/ca.pem"}, "ca_file needs an https address"),
        ({"url": "http://10.0.0.1/metrics", "bearer_token_file": "/token"}, "the token is a secret"),
    ],
)
def test_a_target_that_can_not_work_is_refused_with_its_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"scrape\.") as caught:
        ScrapeTarget(**{"name": "t", "url": URL} | settings)
    assert said in str(caught.value)
    assert "secret@" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://[::1]:1/", "http://localhost/", "https://10.0.0.1/"])
def test_a_token_may_go_to_this_machine_and_over_tls(url: str) -> None:
    assert ScrapeTarget(name="t", url=url, bearer_token_file=str(SECRETS)).bearer_token_file == str(SECRETS)


def test_two_targets_of_one_name_and_too_many_are_refused() -> None:
    with pytest.raises(ValueError, match="two targets with the name 't'"):
        check_targets((ScrapeTarget(name="t", url=URL),) * 2)
    with pytest.raises(ValueError, match="33 targets; at most 32"):
        check_targets(tuple(ScrapeTarget(name=f"t{number}", url=URL) for number in range(33)))
