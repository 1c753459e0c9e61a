"""Anybody can recompute a draw: the program for download, and `manage.py sale_verify`."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client

from seckill.management.commands import sale_verify
from seckill.models import Draw, DrawEntry, SaleItem
from shop.models import Product
from tests.steps.drawing import drawn, entered, in_order, make_draw
from tests.steps.shop import make_product

PROGRAM = Path(__file__).parents[3] / "seckill/static/seckill/verify_draw.py"

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def draw(rows_of_the_file: None) -> Draw:
    """Carried out once for all tests, each of which may damage it until its end."""
    product = make_product(name="Oolong tea", slug="oolong", price_minor=9900)
    item = make_draw(product, quantity=4, per_buyer_max=3)
    entered(item, 5)
    entered(item, 4, units=3)
    return drawn(item)


@pytest.fixture
def downloaded(draw: Draw, client: Client, tmp_path: Path) -> Path:
    """The file as somebody gets it from the shop."""
    path = tmp_path / "draw.json"
    path.write_bytes(client.get(f"/api/v1/sales/{draw.pk}/draw/file/").content)
    return path


def recompute(path: Path) -> subprocess.CompletedProcess[str]:
    """Without anything but Python: in another folder, without packages, environment or the shop's code."""
    command = [sys.executable, "-I", "-S", str(PROGRAM), str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=path.parent, env={}, check=False)


def verify(draw: Draw, **options: Any) -> int:
    try:
        call_command("sale_verify", str(draw.pk), **options)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_the_program_is_short_and_shares_no_code_with_the_shop() -> None:
    lines = PROGRAM.read_text().splitlines()
    assert len(lines) <= 40
    imports = {line for line in lines if line.startswith(("import", "from"))}
    assert imports == {f"import {name}" for name in ("hashlib", "hmac", "json", "sys")}


def test_the_program_and_the_command_find_a_right_draw_right(
    draw: Draw, downloaded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = recompute(downloaded)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "9 entries. The result is right." in found.stdout
    assert draw.entries_sha256 in found.stdout
    assert verify(draw) == verify(draw, file=downloaded) == 0
    assert "The draw is right: 9 entries" in capsys.readouterr().out


TAMPERINGS: dict[str, Callable[[dict[str, Any], list[dict[str, Any]]], object]] = {
    "seed": lambda content, listed: content.update(seed="00" * 32),
    "hash of the seed": lambda content, listed: content.update(seed_sha256="00" * 32),
    "entry": lambda content, listed: listed[3].update(entry=str(uuid4())),
    "added": lambda content, listed: listed.append({**listed[0], "entry": str(uuid4())}),
    "twice": lambda content, listed: listed.append(listed[0]),
    "hash": lambda content, listed: content.update(entries_sha256="00" * 32),
    "removed": lambda content, listed: listed.pop(),
    "units": lambda content, listed: listed[0].update(units=4 - listed[0]["units"]),
    "order": lambda content, listed: (listed[0].update(place=2), listed[1].update(place=1)),
    "winner": lambda content, listed: listed[-1].update(won=not listed[-1]["won"]),
    "quantity": lambda content, listed: content.update(units=dict.fromkeys(content["units"], 9)),
    "item": lambda content, listed: listed[0].update(item=listed[0]["item"] + 1),
}


def test_both_find_what_was_changed_in_a_file(draw: Draw, downloaded: Path) -> None:
    whole = downloaded.read_text()
    for what, tamper in TAMPERINGS.items():
        content = json.loads(whole)
        tamper(content, content["entries"])
        downloaded.write_text(json.dumps(content))
        assert (recompute(downloaded).returncode, verify(draw, file=downloaded)) == (1, 1), what


@pytest.mark.parametrize("column", ["units", "place", "won_at_draw", "gone", "seed"])
def test_the_command_finds_rows_that_were_changed(draw: Draw, column: str) -> None:
    item = SaleItem.objects.get(sale=draw.pk)
    last = in_order(item)[-1]
    rows = DrawEntry.objects.filter(pk=last.pk)
    match column:
        case "gone":
            rows.delete()
        case "seed":
            Draw.objects.update(seed="00" * 32)
        case "won_at_draw":
            rows.update(won_at_draw=not last.won_at_draw)
        case _:
            rows.update(**{column: 2})
    assert verify(draw) == 1


def test_a_file_that_is_none_of_a_draw_is_not_checked(draw: Draw, downloaded: Path) -> None:
    whole = json.loads(downloaded.read_text())
    endless = {**whole["entries"][0], "units": float("inf")}
    damages = ({"units": None}, {"entries": [7]}, {"entries": [endless]}, {"seed": "zz"})
    for damage in (*(json.dumps(whole | damage) for damage in damages), "[" * 100_000):
        downloaded.write_text(damage)
        with pytest.raises(CommandError, match="Not a file of a draw") as refusal:
            verify(draw, file=downloaded)
        assert refusal.value.returncode == 2, damage[:100]


def test_a_draw_is_not_checked_while_postgresql_is_away(draw: Draw) -> None:
    away = OperationalError("connection refused")
    with mock.patch.object(sale_verify, "faults_of_rows", side_effect=away), pytest.raises(CommandError) as refusal:
        verify(draw)
    assert (refusal.value.returncode, str(refusal.value)) == (2, "PostgreSQL does not answer: connection refused")


def test_a_draw_that_was_not_carried_out_is_not_checked(product: Product) -> None:
    item = make_draw(product)
    with pytest.raises(Exception, match="no draw that was carried out") as refusal:
        call_command("sale_verify", str(item.sale_id))
    assert getattr(refusal.value, "returncode", None) == 2
