"""deploy/prometheus and the autoscaler: each metric that they name is one that the shop exports."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from orders.repair.audit import remember_result
from seckill.models import SaleItem
from seckill.store.failures import Cause
from tests.deploy.layouts import documents, manifests
from tests.deploy.programs import DEPLOY

ALERTS = [rule for group in documents(DEPLOY / "prometheus" / "alerts.yml")[0]["groups"] for rule in group["rules"]]
ADAPTER = documents(DEPLOY / "prometheus" / "adapter-rules.yaml")[0]["externalRules"]
SCRAPE = documents(DEPLOY / "prometheus" / "prometheus.yml")[0]

# /metrics asks PostgreSQL in a thread of its own, which sees only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


def metrics_in(expression: str) -> set[str]:
    return set(re.findall(r"\bstampede_\w+", expression))


@pytest.fixture
def exported(client: Client, item: SaleItem) -> dict[str, set[str]]:
    """The metrics of a shop with a sale and an audit, each with the labels that it has."""
    remember_result(problems_of_item={item.pk: 0})
    assert timezone.now()
    found: dict[str, set[str]] = {}
    for line in client.get("/metrics").content.decode().splitlines():
        if match := re.match(r"(stampede_\w+)(?:\{(.*)\})? ", line):
            labels = set(re.findall(r'(\w+)="', match[2] or ""))
            found.setdefault(match[1], set()).update(labels)
    return found


def test_alerts_name_metrics_that_are_exported(exported: dict[str, set[str]]) -> None:
    assert len(ALERTS) > 10
    for rule in ALERTS:
        for name in metrics_in(rule["expr"]):
            assert name in exported, f"{rule['alert']}: {name}"


def test_every_gauge_of_waiting_work_has_an_alert(exported: dict[str, set[str]]) -> None:
    watched = {name for rule in ALERTS for name in metrics_in(rule["expr"])}
    # Answers are a figure to look at: no number of them is wrong.
    assert set(exported) - watched == {"stampede_answers_total"}


def test_alerts_group_by_labels_that_the_metrics_have(exported: dict[str, set[str]]) -> None:
    for rule in ALERTS:
        for labels in re.findall(r"by \((\w+)\)", rule["expr"]):
            for name in metrics_in(rule["expr"]):
                # A counter by cause has a line for each cause, and `item` is that of a sale.
                assert labels in exported[name] or (labels == "cause" and list(Cause)), rule["alert"]
        shown = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        assert shown <= set(re.findall(r"by \((\w+)\)", rule["expr"])), rule["alert"]


def test_alerts_are_whole() -> None:
    names = [rule["alert"] for rule in ALERTS]
    assert len(names) == len(set(names))
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"].endswith((".", "?"))
        for opening, closing in ("()", "{}"):
            assert rule["expr"].count(opening) == rule["expr"].count(closing), rule["alert"]


def test_a_server_that_is_away_is_named_once() -> None:
    """Its figures are missing then. An alert on missing figures would name a second cause, and the wrong one."""
    absent = [rule["expr"] for rule in ALERTS if "absent(stampede_" in rule["expr"]]
    assert absent
    assert all(expression.endswith("and on() min(stampede_source_up) == 1") for expression in absent)
    [down] = [rule for rule in ALERTS if rule["alert"] == "StampedeServerDown"]
    assert down["expr"] == "max by (source) (stampede_source_up) == 0"
    assert down["labels"]["severity"] == "page"


def test_the_autoscaler_asks_for_what_the_adapter_gives(exported: dict[str, set[str]]) -> None:
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


def test_prometheus_asks_a_path_that_is_served_and_loads_the_rules() -> None:
    [job] = SCRAPE["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    assert all((DEPLOY / "prometheus" / name).exists() for name in SCRAPE["rule_files"])
    # `up` is by the name of the job.
    assert any(f'job="{job["job_name"]}"' in rule["expr"] for rule in ALERTS)
