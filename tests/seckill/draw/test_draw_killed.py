"""A worker that is killed while it carries out a draw: the next sweep goes on, and nothing is given twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orders.models import Order
from orders.repair.audit import audit
from seckill.models import DrawEntry
from shop.models import Product
from tests.live_shop import environment
from tests.steps.drawing import entered, in_order, make_draw, opening_passes, swept
from tests.steps.store import left_held_sold

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.django_db(transaction=True)

# The program that is killed.
SWEEPS = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
django.setup()
from orders.tasks import carry_out_draws
for _second in range(3):
    carry_out_draws()
"""


def sweep_and_die(*, at: str, directory: Path) -> None:
    (directory / at).write_text("1")
    died = subprocess.run(
        [sys.executable, "-c", SWEEPS],
        cwd=ROOT,
        env={**os.environ, **environment(), "FAILPOINTS": str(directory)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr


def test_killed_between_units_and_their_note(product: Product, tmp_path: Path) -> None:
    item = make_draw(product, quantity=3)
    entered(item, 7)
    opening_passes(item)
    sweep_and_die(at="draw.after_reserve", directory=tmp_path)
    # The store holds the units, and PostgreSQL does not know it yet.
    assert left_held_sold(item)[:2] == (0, 3)
    assert not DrawEntry.objects.filter(reserved_at__isnull=False).exists()
    places = [entry.entry_id for entry in in_order(item)]

    swept(item)
    assert [entry.entry_id for entry in in_order(item)] == places
    assert [entry.status for entry in in_order(item)] == ["won"] * 3 + ["not_won"] * 4
    assert Order.objects.count() == 3
    assert audit(item_id=item.pk, patience_seconds=0).comparison.problem_count == 0
