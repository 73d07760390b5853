"""Alerts, runbook and dashboard of serve/deploy/, judged by Prometheus: what they ask for is there."""

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
from tests.serve.processes import ROOT, ask, eventually, line_of, started

pytestmark = pytest.mark.slow

DEPLOY = ROOT / "serve" / "deploy"
ALERTS = (DEPLOY / "alerts.yml").read_text()
RUNBOOK = (DEPLOY / "RUNBOOK.md").read_text()
DASHBOARD = json.loads((DEPLOY / "grafana.json").read_text())
UNIT_TESTS = Path(__file__).with_name("alerts_test.yml")

NAMES = re.findall(r"^ +- alert: (\w+)$", ALERTS, re.M)
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
# What a sample of a family is called, by the type of the family.
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}


def _metrics(text: str) -> set[str]:
    return set(re.findall(r"\b(?:societes|node)_[A-Za-z_]+\b|\bup\b", text))


def _asked_by_alerts() -> set[str]:
    """The metrics of the expressions of the alerts, without comments and summaries."""
    lines = [line for line in ALERTS.splitlines() if not re.match(r"\s*(#|summary:|- name:)", line)]
    return _metrics("\n".join(lines))


# -- documents ---------------------------------------------------------------------


def test_each_alert_has_a_section_of_the_runbook_and_each_section_an_alert() -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", RUNBOOK, re.M | re.S))
    severities = dict(re.findall(r"- alert: (\w+)\n.*?severity: (\w+)", ALERTS, re.S))

    assert len(NAMES) == 21
    assert sorted(sections) == sorted(NAMES)
    for name, section in sections.items():
        assert section.startswith(f"\n*{severities[name]}.* ")
        assert "- **Look at**: " in section
        assert "- **Do**: " in section
    links = re.findall(r"\[(\w+)\]\(#(\w+)\)", RUNBOOK)
    assert all(name in NAMES and anchor == name.lower() for name, anchor in links)


def test_the_sources_with_bounds_of_their_own_are_those_that_appear_seldom() -> None:
    with (ROOT / "seeds" / "sources.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    seldom = {row["source"] for row in rows if row["cadence"] in ("trimestrielle", "annuelle")}
    once = {row["source"] for row in rows if row["cadence"] == "unique"}

    (others,) = re.findall(r'societes_source_age_seconds\{source!~"([^"]+)"', ALERTS)
    (slow,) = re.findall(r'societes_source_age_seconds\{source=~"([^"]+)"', ALERTS)
    assert set(slow.split("|")) == seldom
    assert set(others.split("|")) == seldom | once


# -- promtool ----------------------------------------------------------------------


def test_promtool_understands_the_rules_and_the_example() -> None:
    promtool = need("promtool", "prometheus")

    for kind, name in (("rules", "alerts.yml"), ("config", "prometheus.yml")):
        done = _run([promtool, "check", kind, str(DEPLOY / name)])
        assert done.returncode == 0, done.stderr
        assert f"{len(NAMES)} rules found" in done.stdout


def test_each_alert_fires_where_it_is_due_and_nowhere_else() -> None:
    promtool = need("promtool", "prometheus")

    done = _run([promtool, "test", "rules", str(UNIT_TESTS)])

    assert done.returncode == 0, done.stdout + done.stderr
    fired = re.findall(r"alertname: (\w+)\n +exp_alerts:\n +- exp_labels", UNIT_TESTS.read_text())
    assert set(fired) == set(NAMES)


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=4 * WAIT_S)


# -- the real programs ---------------------------------------------------------------


@dataclass(frozen=True)
class Watched:
    """A Prometheus that scrapes a server of ours and a node exporter with the file of a night.

    Attributes:
        families: the names of all metrics that either emits, also of those without a sample now.
    """

    url: str
    families: set[str]

    def api(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=WAIT_S) as answer:
            return json.loads(answer.read())["data"]

    def values(self, expression: str) -> list[float]:
        found = self.api("query", query=expression)["result"]
        return [float(one["value"][1]) for one in found]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    prometheus = need("prometheus", "prometheus")
    exporter = need("prometheus-node-exporter", "prometheus-node-exporter")
    folder = tmp_path_factory.mktemp("watched")
    data, collected = folder / "data", folder / "node-exporter"
    world.publish(data)
    pointer.note_mirrored(data, datetime.now(UTC) - timedelta(hours=2))
    collected.mkdir()
    _end_night(collected / "societes.prom", data)
    node = f"127.0.0.1:{free_port()}"
    with started(data, "--mirror", "--workers", "2", "--config", str(_mail(folder))) as server:
        address = line_of(server)
        ask(address, "/api/v1/societes")
        flags = [f"--web.listen-address={node}", f"--collector.textfile.directory={collected}"]
        with (
            _running([exporter, *flags], f"http://{node}/metrics"),
            _scraping(prometheus, folder, address.removeprefix("http://"), node) as url,
        ):
            texts = [ask(one, "/metrics")[1].decode() for one in (address, f"http://{node}")]
            found = Watched(url, {"up"} | {name for text in texts for name in _emitted(text)})
            assert eventually(lambda: sorted(found.values("up")) == [1, 1])
            assert eventually(lambda: found.values("societes_mails_waiting") == [0])
            yield found


def _mail(folder: Path) -> Path:
    """Settings with a mail server, which nobody asks while there is no mail."""
    path = folder / "serve.toml"
    mail = f'[courriel]\nhost = "127.0.0.1"\nport = {free_port()}\nsender = "ne-pas@exemple.fr"\n'
    path.write_text('base_url = "http://societes.exemple.fr"\n' + mail, encoding="utf-8")
    return path


def _end_night(path: Path, data: Path) -> None:
    """What a night leaves for the collector."""
    counts = {"lus": 100, "gardes": 99, "rejetes": 1, "ecartes": 0}
    estonia = SourceReport(
        "ee", "nouveau", (), (), "2026-11-23", 1, False, counts, True, True, secondes=3.0
    )
    now, published = datetime.now(UTC), str(pointer.current_name(data))
    report = NightlyReport(now.isoformat(), sources=[estonia], generation=published)
    report.etapes["build"] = 4.0
    write_metrics(path, report, data, ended=now, success=True)


@contextmanager
def _scraping(prometheus: str, folder: Path, server: str, node: str) -> Iterator[str]:
    """The address of a Prometheus with the example's configuration, for other ports."""
    example = (DEPLOY / "prometheus.yml").read_text()
    for before, after in (
        ("127.0.0.1:8080", server),
        ("127.0.0.1:9100", node),
        ("alerts.yml", str(DEPLOY / "alerts.yml")),
        ("interval: 15s", "interval: 1s"),
    ):
        assert before in example
        example = example.replace(before, after)
    (folder / "prometheus.yml").write_text(example)
    own = f"127.0.0.1:{free_port()}"
    command = [prometheus, f"--config.file={folder}/prometheus.yml", "--log.level=warn",
               f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address={own}"]  # fmt: skip
    with _running(command, f"http://{own}/-/ready"):
        yield f"http://{own}"


@contextmanager
def _running(command: list[str], page: str) -> Iterator[None]:
    """Run a program of others until the end of the block, from when this page is there."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_without_proxy()
    ) as process:
        try:
            assert eventually(lambda: urllib.request.urlopen(page, timeout=5).status == 200)
            yield
        finally:
            process.kill()


def _without_proxy() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}


def _emitted(text: str) -> Iterator[str]:
    for family in text_string_to_metric_families(text):
        yield from (family.name + suffix for suffix in SUFFIXES.get(family.type, ("",)))


def test_alerts_and_dashboard_ask_for_nothing_that_is_not_there(watched: Watched) -> None:
    shown = _metrics("\n".join(QUERIES))

    assert _asked_by_alerts() - watched.families == set()
    assert shown - watched.families == set()


def test_the_dashboard_shows_all_that_we_measure(watched: Watched) -> None:
    shown = _metrics("\n".join(QUERIES))

    ours = {name for name in watched.families if name.startswith("societes_")}
    assert ours - shown == {"societes_request_seconds_count", "societes_request_seconds_sum"}


def test_prometheus_loads_the_alerts_and_evaluates_each(watched: Watched) -> None:
    def rules() -> list[dict[str, Any]]:
        return [rule for group in watched.api("rules")["groups"] for rule in group["rules"]]

    assert eventually(lambda: {rule["health"] for rule in rules()} == {"ok"}), rules()

    assert sorted(rule["name"] for rule in rules()) == sorted(NAMES)
    # The mirror was found two hours ago; some sources of the small world are years old.
    due = {"SocietesMirrorBehind", "SocietesSourceOld", "SocietesMemoryLow", "SocietesDiskLow"}
    assert eventually(
        lambda: {"SocietesMirrorBehind", "SocietesSourceOld"} <= _active(rules()) <= due
    ), _active(rules())


def _active(rules: list[dict[str, Any]]) -> set[str]:
    return {rule["name"] for rule in rules if rule["state"] != "inactive"}


def test_prometheus_answers_each_query_of_the_dashboard(watched: Watched) -> None:
    """What is only there with a fault has no value; an error of a query would be a 400."""

    def without_values() -> list[str]:
        return [query for query in QUERIES if not watched.values(query.replace("$instance", ".*"))]

    faults = [query for query in QUERIES if "refused_info" in query or query.endswith(" == 0")]
    # A rate has a value from the second scrape on.
    assert eventually(lambda: without_values() == faults), without_values()


def test_a_panel_says_what_it_shows_and_lies_on_no_other() -> None:
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
    assert max(x for x, _ in cells) < 24
