"""Alerts, runbook and dashboard of serve/deploy/, checked with Prometheus: every metric that they use exists."""

import csv
import json
import os
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipeline.nightly.report import NightlyReport, SourceReport, write_metrics
from shards.generations import pointer
from tests.proof.tools import WAIT_S, need
from tests.quota.servers import free_port
from tests.serve import world
from tests.serve.processes import ROOT, ask, eventually, read_line, server_process

pytestmark = pytest.mark.slow

DEPLOY = ROOT / "serve" / "deploy"
ALERTS = (DEPLOY / "alerts.yml").read_text()
RUNBOOK = (DEPLOY / "RUNBOOK.md").read_text()
DASHBOARD = json.loads((DEPLOY / "grafana.json").read_text())
UNIT_TESTS = Path(__file__).with_name("alerts_test.yml")

ALERT_NAMES = re.findall(r"^ +- alert: (\w+)$", ALERTS, re.M)
DASHBOARD_QUERIES = [
    target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())
]
# The suffixes of the samples of a family, by the type of the family.
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}


def _metric_names(text: str) -> set[str]:
    """The names in expressions that are metrics of the project, of a node, or `up`."""
    return set(re.findall(r"\b(?:societes|node)_[A-Za-z_]+\b|\bup\b", text))


def _alert_metrics() -> set[str]:
    """The metrics of the expressions of the alerts, without comments and summaries."""
    lines = [line for line in ALERTS.splitlines() if not re.match(r"\s*(#|summary:|- name:)", line)]
    return _metric_names("\n".join(lines))


# -- documents ---------------------------------------------------------------------


def test_alerts_and_sections_of_the_runbook_correspond() -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", RUNBOOK, re.M | re.S))
    severities = dict(re.findall(r"- alert: (\w+)\n.*?severity: (\w+)", ALERTS, re.S))

    assert len(ALERT_NAMES) == 21  # the pattern matches each alert of the file
    assert sorted(sections) == sorted(ALERT_NAMES)
    for name, section in sections.items():
        assert section.startswith(f"\n*{severities[name]}.* ")
        assert "- **Look at**: " in section
        assert "- **Do**: " in section
    links = re.findall(r"\[(\w+)\]\(#(\w+)\)", RUNBOOK)
    assert all(name in ALERT_NAMES and anchor == name.lower() for name, anchor in links)


def test_the_alerts_have_other_bounds_for_sources_that_appear_rarely() -> None:
    """One expression is for frequent editions, and one for rare ones; a source with a single edition has no alert"""
    with (ROOT / "seeds" / "sources.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rare = {row["source"] for row in rows if row["cadence"] in ("trimestrielle", "annuelle")}
    single = {row["source"] for row in rows if row["cadence"] == "unique"}

    (not_frequent,) = re.findall(r'societes_source_age_seconds\{source!~"([^"]+)"', ALERTS)
    (infrequent,) = re.findall(r'societes_source_age_seconds\{source=~"([^"]+)"', ALERTS)
    assert set(infrequent.split("|")) == rare
    assert set(not_frequent.split("|")) == rare | single


# -- promtool ----------------------------------------------------------------------


def test_promtool_understands_the_rules_and_the_example() -> None:
    """Prometheus.yml names alerts.yml, so both checks count the alerts"""
    promtool = need("promtool", "prometheus")

    for kind, name in (("rules", "alerts.yml"), ("config", "prometheus.yml")):
        result = _run([promtool, "check", kind, str(DEPLOY / name)])
        assert result.returncode == 0, result.stderr
        assert f"{len(ALERT_NAMES)} rules found" in result.stdout


def test_each_alert_fires_only_when_it_is_due() -> None:
    promtool = need("promtool", "prometheus")

    result = _run([promtool, "test", "rules", str(UNIT_TESTS)])

    assert result.returncode == 0, result.stdout + result.stderr
    alerts = re.findall(r"alertname: (\w+)\n +exp_alerts:\n +- exp_labels", UNIT_TESTS.read_text())
    assert set(alerts) == set(ALERT_NAMES)


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; the caller checks its status."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=4 * WAIT_S)


# -- the real programs ---------------------------------------------------------------


@dataclass(frozen=True)
class Monitoring:
    """A Prometheus that scrapes a server and a node exporter, which has the file of a night.

    Attributes:
        families: the names of all metrics of both, including metrics that have no sample now.
    """

    url: str
    families: set[str]

    def api(self, path: str, **parameters: str) -> Any:
        """The data of a response of the API of Prometheus."""
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=WAIT_S) as answer:
            return json.loads(answer.read())["data"]

    def values(self, expression: str) -> list[float]:
        """The current values of the series of an expression."""
        samples = self.api("query", query=expression)["result"]
        return [float(sample["value"][1]) for sample in samples]


@pytest.fixture(scope="module")
def monitoring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitoring]:
    """Run a mirror's server, a node exporter, and a Prometheus; begin when Prometheus has scraped both."""
    prometheus = need("prometheus", "prometheus")
    exporter = need("prometheus-node-exporter", "prometheus-node-exporter")
    folder = tmp_path_factory.mktemp("monitoring")
    data, text_files = folder / "data", folder / "node-exporter"
    world.publish(data)
    pointer.note_mirrored(data, datetime.now(UTC) - timedelta(hours=2))
    text_files.mkdir()
    _write_night_metrics(text_files / "societes.prom", data)
    node = f"127.0.0.1:{free_port()}"
    with server_process(
        data, "--mirror", "--workers", "2", "--config", str(_mail_settings(folder))
    ) as server:
        address = read_line(server)
        ask(address, "/api/v1/societes")
        flags = [f"--web.listen-address={node}", f"--collector.textfile.directory={text_files}"]
        with (
            _run_program([exporter, *flags], f"http://{node}/metrics"),
            _run_prometheus(prometheus, folder, address.removeprefix("http://"), node) as url,
        ):
            texts = [ask(host, "/metrics")[1].decode() for host in (address, f"http://{node}")]
            monitoring = Monitoring(
                url, {"up"} | {name for text in texts for name in _sample_names(text)}
            )
            assert eventually(lambda: sorted(monitoring.values("up")) == [1, 1])
            assert eventually(lambda: monitoring.values("societes_mails_waiting") == [0])
            yield monitoring


def _mail_settings(folder: Path) -> Path:
    """Settings with a mail server, which is not called while there is no mail."""
    path = folder / "serve.toml"
    mail = f'[courriel]\nhost = "127.0.0.1"\nport = {free_port()}\nsender = "ne-pas@exemple.fr"\n'
    path.write_text('base_url = "http://societes.exemple.fr"\n' + mail, encoding="utf-8")
    return path


def _write_night_metrics(path: Path, data: Path) -> None:
    """Write the metrics of a night as a text file, which the node exporter publishes."""
    counts = {"lus": 100, "gardes": 99, "rejetes": 1, "ecartes": 0}
    estonia = SourceReport(
        "ee", "nouveau", (), (), "2026-11-23", 1, False, counts, True, True, secondes=3.0
    )
    now, published = datetime.now(UTC), str(pointer.current_name(data))
    report = NightlyReport(now.isoformat(), sources=[estonia], generation=published)
    report.etapes["build"] = 4.0
    write_metrics(path, report, data, ended=now, success=True)


@contextmanager
def _run_prometheus(prometheus: str, folder: Path, server: str, node: str) -> Iterator[str]:
    """Run Prometheus with the example configuration on other ports; the block receives its address."""
    example = (DEPLOY / "prometheus.yml").read_text()
    for old, new in (
        ("127.0.0.1:8080", server),
        ("127.0.0.1:9100", node),
        ("alerts.yml", str(DEPLOY / "alerts.yml")),
        ("interval: 15s", "interval: 1s"),
    ):
        assert old in example
        example = example.replace(old, new)
    (folder / "prometheus.yml").write_text(example)
    own_address = f"127.0.0.1:{free_port()}"
    command = [prometheus, f"--config.file={folder}/prometheus.yml", "--log.level=warn",
               f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address={own_address}"]  # fmt: skip
    with _run_program(command, f"http://{own_address}/-/ready"):
        yield f"http://{own_address}"


@contextmanager
def _run_program(command: list[str], page: str) -> Iterator[None]:
    """Run a program until the end of the block, which starts when the program serves this page."""
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_environment_without_proxies(),
    ) as process:
        try:
            assert eventually(lambda: urllib.request.urlopen(page, timeout=5).status == 200)
            yield
        finally:
            process.kill()


def _environment_without_proxies() -> Mapping[str, str]:
    """Without proxies, because Prometheus would call the local servers through them."""
    return {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}


def _sample_names(text: str) -> Iterator[str]:
    """The names of the samples that the metrics of a text can have."""
    for family in text_string_to_metric_families(text):
        yield from (family.name + suffix for suffix in SUFFIXES.get(family.type, ("",)))


def test_every_metric_of_the_alerts_and_the_dashboard_exists(monitoring: Monitoring) -> None:
    dashboard = _metric_names("\n".join(DASHBOARD_QUERIES))

    assert _alert_metrics() - monitoring.families == set()
    assert dashboard - monitoring.families == set()


def test_the_dashboard_shows_all_metrics_of_the_project(monitoring: Monitoring) -> None:
    dashboard = _metric_names("\n".join(DASHBOARD_QUERIES))

    ours = {name for name in monitoring.families if name.startswith("societes_")}
    # The dashboard needs only the buckets of this histogram.
    assert ours - dashboard == {"societes_request_seconds_count", "societes_request_seconds_sum"}


def test_prometheus_loads_the_alerts_and_evaluates_each(monitoring: Monitoring) -> None:
    def rules() -> list[dict[str, Any]]:
        """The alerts as Prometheus has loaded them, with their states."""
        return [rule for group in monitoring.api("rules")["groups"] for rule in group["rules"]]

    assert eventually(lambda: {rule["health"] for rule in rules()} == {"ok"}), rules()

    assert sorted(rule["name"] for rule in rules()) == sorted(ALERT_NAMES)
    # The last round of the mirror was two hours ago, and some sources of the test data are years old. The alerts of
    # memory and disk depend on this machine.
    may_be_active = {
        "SocietesMirrorBehind",
        "SocietesSourceOld",
        "SocietesMemoryLow",
        "SocietesDiskLow",
    }
    assert eventually(
        lambda: (
            {"SocietesMirrorBehind", "SocietesSourceOld"}
            <= _active_alerts(rules())
            <= may_be_active
        )
    ), _active_alerts(rules())


def _active_alerts(rules: list[dict[str, Any]]) -> set[str]:
    """The alerts that fire, or will if their condition lasts."""
    return {rule["name"] for rule in rules if rule["state"] != "inactive"}


def test_prometheus_answers_each_query_of_the_dashboard(monitoring: Monitoring) -> None:
    """Metrics that exist only after a fault have no value. An error in a query would raise, as its status is 400"""

    def empty_queries() -> list[str]:
        """The queries of the dashboard that have no value now."""
        return [
            query
            for query in DASHBOARD_QUERIES
            if not monitoring.values(query.replace("$instance", ".*"))
        ]

    only_after_a_fault = [
        query for query in DASHBOARD_QUERIES if "refused_info" in query or query.endswith(" == 0")
    ]
    # A rate has a value from the second scrape on.
    assert eventually(lambda: empty_queries() == only_after_a_fault), empty_queries()


def test_every_panel_has_a_title_and_panels_do_not_overlap() -> None:
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]

    assert all(panel["title"] and panel["targets"] for panel in panels)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24  # the columns of a dashboard of Grafana
