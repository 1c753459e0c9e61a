"""deploy/prometheus, the dashboard and the autoscaler: each metric that they name is one that the shop exports."""

import json
import re
from collections.abc import Iterable

import pytest
from django.http.request import validate_host

from seckill.store.failures import Cause
from tests.deploy.layouts import alerts, documents, manifests
from tests.deploy.programs import DEPLOY
from tests.deploy.unit_files import read_environment_file

ALERTS = alerts()
ADAPTER = documents(DEPLOY / "prometheus" / "adapter-rules.yaml")[0]["externalRules"]
SCRAPE_FILE = DEPLOY / "prometheus" / "prometheus.yml"
SCRAPE = documents(SCRAPE_FILE)[0]
MONITOR = documents(DEPLOY / "prometheus" / "servicemonitor.yaml")[0]
PANELS = json.loads((DEPLOY / "grafana" / "stampede.json").read_text())["panels"]
# Figures to look at: no number of them is wrong by itself.
TO_LOOK_AT = {
    "stampede_answers_total",
    "stampede_endpoint_seconds_sum",
    "stampede_lane_seconds_bucket",
    "stampede_lane_seconds_count",
    "stampede_lane_seconds_sum",
    "stampede_line_people",
    "stampede_room_people",
}

# /metrics asks PostgreSQL in a thread of its own, which sees only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


def metrics_in(expression: str) -> set[str]:
    return set(re.findall(r"\bstampede_\w+", expression))


def labels_in(expression: str) -> Iterable[tuple[str, str]]:
    """Each metric with a label by which it is grouped or chosen."""
    for groups, name in re.findall(r"by \(([\w, ]+)\) \((?:\w+\()?(stampede_\w+)", expression):
        yield from ((name, label.strip()) for label in groups.split(","))
    for name, chosen in re.findall(r"(stampede_\w+)\{([^}]*)\}", expression):
        yield from ((name, label) for label in re.findall(r"(\w+)[!=]", chosen))


@pytest.fixture
def exported(scrape: str) -> dict[str, set[str]]:
    """The metrics of a shop with a sale and an audit, each with the labels that it has."""
    found: dict[str, set[str]] = {}
    for line in scrape.splitlines():
        if match := re.match(r"(stampede_\w+)(?:\{(.*)\})? ", line):
            labels = set(re.findall(r'(\w+)="', match[2] or ""))
            found.setdefault(match[1], set()).update(labels)
    return found


def test_alerts_panels_and_the_autoscaler_know_every_metric_with_its_labels_and_no_other(
    exported: dict[str, set[str]],
) -> None:
    watched = {name for rule in ALERTS for name in metrics_in(rule["expr"])}
    assert watched ^ set(exported) == TO_LOOK_AT
    shown = {name for expression in expressions_of_panels() for name in metrics_in(expression)}
    # The sums are for averages, which hide those who wait.
    assert shown == set(exported) - {"stampede_lane_seconds_sum", "stampede_endpoint_seconds_sum"}

    # They group by labels that the metrics have. A counter by cause has a line for each cause.
    assert list(Cause)
    expressions = [rule["expr"] for rule in ALERTS] + expressions_of_panels()
    found = [(name, label) for expression in expressions for name, label in labels_in(expression)]
    assert len(found) > 30
    assert [(name, label) for name, label in found if label not in exported[name]] == []

    # The autoscaler asks for what the adapter gives.
    wanted = {
        metric["external"]["metric"]["name"]
        for manifest in manifests()
        if manifest["kind"] == "HorizontalPodAutoscaler"
        for metric in manifest["spec"]["metrics"]
        if metric["type"] == "External"
    }
    assert wanted == {"stampede_outbox_backlog"}
    assert {rule["name"]["as"] for rule in ADAPTER} == wanted
    for rule in ADAPTER:
        assert metrics_in(rule["metricsQuery"]) | {rule["seriesQuery"]} <= set(exported)


def test_alerts_have_a_severity_and_a_sentence_with_labels_that_they_have() -> None:
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("page", "ticket")
        summary = rule["annotations"]["summary"]
        assert summary.endswith((".", "?"))
        assert {*re.findall(r"\$labels\.(\w+)", summary)} <= {*re.findall(r"by \((\w+)\)", rule["expr"])}, rule["alert"]


def test_a_call_that_failed_once_wakes_nobody() -> None:
    for rule in ALERTS:
        if "stampede_store_failures_total" in rule["expr"]:
            assert rule["for"] == "2m", rule["alert"]
            assert "[1m]" in rule["expr"], "a window as long as `for` would keep one failure in sight"


def expressions_of_panels() -> list[str]:
    return [target["expr"] for panel in PANELS for target in panel.get("targets", [])]


def test_the_panels_stand_beside_each_other() -> None:
    places = [tuple(panel["gridPos"][name] for name in "xy") for panel in PANELS]
    assert len(places) == len(set(places))
    for panel in PANELS:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        assert panel["type"] == "row" or panel["targets"], panel["title"]


def test_the_service_monitor_finds_the_pages() -> None:
    services = {manifest["metadata"]["name"]: manifest for manifest in manifests() if manifest["kind"] == "Service"}
    chosen = MONITOR["spec"]["selector"]["matchLabels"].items()
    [found] = [service for service in services.values() if chosen <= service["metadata"]["labels"].items()]
    [endpoint] = MONITOR["spec"]["endpoints"]
    assert endpoint["port"] in {port["name"] for port in found["spec"]["ports"]}
    assert endpoint["path"] == "/metrics"
    [relabeling] = endpoint["relabelings"]
    # Prometheus is in a namespace of its own.
    name = "{name}.{namespace}".format(**found["metadata"])
    assert relabeling["replacement"] == f"{name}:{found['spec']['ports'][0]['port']}"
    assert MONITOR["metadata"]["namespace"] == found["metadata"]["namespace"]
    # `up` of the alerts is by the name of the job.
    assert found["metadata"]["labels"][MONITOR["spec"]["jobLabel"]] == "stampede"


def assert_answered(targets: list[str], *, settings: dict[str, str]) -> None:
    for target in targets:
        assert validate_host(target.rpartition(":")[0], settings["ALLOWED_HOSTS"].split(",")), target


def test_each_layout_answers_to_the_name_by_which_prometheus_asks_it() -> None:
    [relabeling] = MONITOR["spec"]["endpoints"][0]["relabelings"]
    for overlay in ("production", "trial"):
        [settings] = [one["data"] for one in manifests(overlay) if "ALLOWED_HOSTS" in one.get("data", {})]
        assert_answered([relabeling["replacement"]], settings=settings)
    [of_compose] = SCRAPE["scrape_configs"][0]["static_configs"][0]["targets"]
    [of_units] = re.findall(r"(\S+) with the systemd units", SCRAPE_FILE.read_text())
    assert_answered([of_compose, of_units], settings=read_environment_file(DEPLOY / "stampede.env.example"))


def test_a_server_that_is_away_is_named_once() -> None:
    """Its figures are missing then. An alert on missing figures would name a second cause, and the wrong one."""
    absent = [rule["expr"] for rule in ALERTS if "absent(stampede_" in rule["expr"]]
    assert absent
    assert all(expression.endswith("and on() min(stampede_source_up) == 1") for expression in absent)
    [down] = [rule for rule in ALERTS if rule["alert"] == "StampedeServerDown"]
    assert down["expr"] == "max by (source) (stampede_source_up) == 0"
    assert down["labels"]["severity"] == "page"


def test_prometheus_asks_a_path_that_is_served_and_loads_the_rules() -> None:
    [job] = SCRAPE["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    assert all((DEPLOY / "prometheus" / name).exists() for name in SCRAPE["rule_files"])
    # `up` is by the name of the job.
    assert any(f'job="{job["job_name"]}"' in rule["expr"] for rule in ALERTS)
