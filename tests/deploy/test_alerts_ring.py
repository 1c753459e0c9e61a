"""Each alert rings when its figure goes wrong, not before its time, and ends with its cause.

Prometheus' own promtool evaluates the rules, on the figures of a real scrape of which a few are made wrong.
"""

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.layouts import alerts
from tests.deploy.programs import DEPLOY, check, program

RULES = DEPLOY / "prometheus" / "alerts.yml"
# A rule cannot see any other series.
NAMED = set(re.findall(r"\bstampede_\w+", RULES.read_text()))
ALERTS = {rule["alert"]: rule for rule in alerts()}
# Of scrapes, and of rules where Prometheus is not told otherwise.
INTERVAL_SECONDS = 15
EVALUATION_SECONDS = 60
# Scrapes while all is well, before.
WELL = 8
# Until a rule has seen the figures that it looks for, and until it has forgotten them. Absent series are believed for
# five minutes, and what rises is compared with the minutes before.
SEEN_SECONDS = 60
SEEN_LATE_SECONDS = 420

# /metrics asks PostgreSQL in a thread of its own, which sees only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Cause:
    """What goes wrong: the series with a wrong number, those that rise with each scrape, those that are missing."""

    alert: str
    wrong: dict[str, float] = field(default_factory=dict)
    rises: dict[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    # Series that the scrape has not: their number while all is well.
    well: dict[str, float] = field(default_factory=dict)


CAUSES = [
    Cause("StampedeStoresDisagree", wrong={"stampede_audit_differences{item=ITEM}": 2}),
    Cause("StampedeNoAudit", wrong={"stampede_audit_age_seconds": 900}),
    Cause("StampedeNoAudit", missing=("stampede_audit_age_seconds",)),
    Cause("StampedeOrdersLate", wrong={"stampede_outbox_lag_seconds{item=ITEM}": 45}),
    Cause("StampedeBacklogGrows", wrong={"stampede_outbox_backlog{item=ITEM}": 60_000}),
    Cause("StampedeStoreFails", rises={'stampede_store_failures_total{cause="timeout"}': 5}),
    Cause("StampedeStoreRefuses", rises={'stampede_store_failures_total{cause="full"}': 1}),
    # A yes waits for more replicas than there are.
    Cause("StampedeReplicaLost", wrong={"stampede_store_replicas_wanted": 1}),
    Cause("StampedeItemUnverified", wrong={"stampede_item_unverified_seconds{item=ITEM}": 90}),
    Cause("StampedeYesBroken", rises={"stampede_orders_rejected_total": 1}),
    Cause("StampedeDeadLetters", wrong={"stampede_dead_letters{item=ITEM}": 1}),
    Cause("StampedeSweepLate", wrong={'stampede_sweep_age_seconds{queue="expiry",sweep="settle_orders"}': 300}),
    Cause("StampedeLaneFull", rises={'stampede_lane_full_total{lane="pages"}': 150}),
    Cause(
        "StampedeSlow",
        well={'stampede_endpoint_seconds_bucket{endpoint="api-reserve",le="1.0"}': 0},
        rises={'stampede_endpoint_seconds_count{endpoint="api-reserve"}': 10},
    ),
    Cause("StampedeServerDown", wrong={'stampede_source_up{source="cache"}': 0}),
    Cause("StampedeSilent", wrong={'up{job="stampede"}': 0}),
    Cause("StampedeSilent", missing=('up{job="stampede"}',)),
    Cause("StampedeUnitsHeldTooLong", wrong={"stampede_orders_overdue": 3}),
    Cause("StampedeStoreNotTold", wrong={"stampede_orders_unsettled": 3}),
    Cause("StampedeChangesPending", wrong={"stampede_changes_pending": 1}),
    Cause("StampedeRefundsDue", wrong={"stampede_refunds_due": 1}),
    Cause("StampedePaymentEventsWait", wrong={"stampede_payment_events_waiting": 1}),
    Cause("StampedeMailsUnsent", wrong={"stampede_mails_unsent": 150}),
    Cause("StampedeOrdersNeedAPerson", wrong={"stampede_orders_needing_attention": 1}),
    Cause(
        "StampedeErrandsLate",
        well={
            'stampede_sweep_age_seconds{queue="mail",sweep="send_mails"}': 1,
            'stampede_sweep_interval_seconds{queue="mail",sweep="send_mails"}': 5,
        },
        wrong={'stampede_sweep_age_seconds{queue="mail",sweep="send_mails"}': 2_000},
    ),
    Cause("StampedeQueueLong", wrong={'stampede_queue_length{queue="mail"}': 500}),
    Cause("StampedeQueueLong", wrong={'stampede_queue_wait_seconds{queue="expiry"}': 90}),
    Cause("StampedeWeakSettings", wrong={'stampede_weak_settings{setting="appendfsync"}': 1}),
    Cause("StampedeStockDiffers", wrong={"stampede_stock_differences": 1}),
]


def test_each_alert_has_a_cause() -> None:
    assert {cause.alert for cause in CAUSES} == set(ALERTS)


def test_prometheus_reads_the_figures_and_the_rules(scrape: str) -> None:
    promtool = program("promtool", package="Debian: apt install prometheus")
    done = subprocess.run([promtool, "check", "metrics"], input=scrape, capture_output=True, text=True, check=False)
    # 3: it has an opinion about a name. 1: it could not read them.
    assert done.returncode in (0, 3), done.stderr
    check(promtool, "check", "rules", RULES)
    check(promtool, "check", "config", DEPLOY / "prometheus" / "prometheus.yml")


def test_each_alert_rings_for_its_cause_alone_and_ends_with_it(scrape: str, tmp_path: Path) -> None:
    promtool = program("promtool", package="Debian: apt install prometheus")
    well = {'up{job="stampede"}': 1.0, **samples(scrape)}
    groups = [group(cause, well) for cause in CAUSES]
    file = tmp_path / "ring.json"
    evaluated = f"{EVALUATION_SECONDS}s"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": evaluated, "tests": groups}))
    check(promtool, "test", "rules", file)


def samples(scrape: str) -> dict[str, float]:
    """The number of each series that a rule names, without the buckets of histograms."""
    lines = re.findall(r"(?m)^((stampede_\w+)(?:\{[^}]*\})?) (\S+)$", scrape)
    return {series: float(number) for series, name, number in lines if name in NAMED and "_bucket" not in name}


def group(cause: Cause, well: dict[str, float]) -> dict[str, Any]:
    """A test for promtool: the figures over time, and when the alert rings."""
    [item] = {match for series in well for match in re.findall(r'audit_differences{item=("\d+")', series)}
    wrong = {series.replace("ITEM", item): number for series, number in cause.wrong.items()}
    all_well = {**well, **cause.well}
    assert {*wrong, *cause.rises, *cause.missing} <= all_well.keys(), cause.alert
    patience = seconds(ALERTS[cause.alert].get("for", "0s"))
    looks_back = max(map(seconds, re.findall(r"\[(\w+)\]", ALERTS[cause.alert]["expr"])), default=0)
    seen = SEEN_LATE_SECONDS if cause.missing or cause.rises else SEEN_SECONDS
    began = WELL * INTERVAL_SECONDS
    rings = began + patience + seen
    ended = rings + 4 * INTERVAL_SECONDS
    over = ended + looks_back + seen
    bad, good = (ended - began) // INTERVAL_SECONDS, (over - ended) // INTERVAL_SECONDS + 1
    series = {name: f"{number}+0x{WELL + bad + good}" for name, number in all_well.items()}
    for name, number in wrong.items():
        series[name] = f"{all_well[name]}+0x{WELL} {number}+0x{bad} {all_well[name]}+0x{good}"
    for name, step in cause.rises.items():
        series[name] = f"0+0x{WELL} 0+{step}x{bad} {step * bad}+0x{good}"
    for name in cause.missing:
        series[name] = f"{all_well[name]}+0x{WELL} _x{bad} {all_well[name]}+0x{good}"
    times = {began: False, began + patience - EVALUATION_SECONDS: False, rings: True, over: False}
    return {
        "name": cause.alert,
        "interval": f"{INTERVAL_SECONDS}s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{at}s",
                "exp_samples": [{"labels": f'{{alertname="{cause.alert}"}}', "value": 1}] if firing else [],
            }
            for at, firing in times.items()
        ],
    }


def seconds(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600}[duration[-1]]
