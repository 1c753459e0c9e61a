"""Each part of the bare Django site gets its answers once, without a server, and a row that lost an order is seen."""

import os
import subprocess
import sys

from shop.local.shop_processes import ROOT

# In a process of its own, with the settings of that site. Nothing of it stays in the database.
ASK_EACH_PART = """
from bench.measure.speed.bare_site.wsgi import application
from django.db import transaction
from django.test import Client
from bench.measure.speed.bare_site import models
from bench.measure.speed.part import Sample, WrongAnswer
from bench.measure.speed.parts import bare_parts

def asked(server, ask, *, connections):
    client = Client(headers={"host": "127.0.0.1"})
    answer = client.generic(ask.method, ask.path, ask.body, content_type="application/json")
    assert answer.status_code == ask.status, ask.path
    if server == "loses an order":
        models.BareOrder.objects.all().delete()
    return Sample(requests=2 if server == "told a yes too many" else 1)

bare_parts.measure_ask, bare_parts.SETTLE_SECONDS = asked, 0
with transaction.atomic():
    models.make_tables()
    for part in bare_parts.PARTS:
        if part.server == bare_parts.BARE_DJANGO:
            print(part.name, part.measure("").requests)
    for name in ("loses an order", "told a yes too many"):
        for path in ("/row-lock/", "/conditional/"):
            try:
                bare_parts.sell_from_row(path, name)
            except WrongAnswer as wrong:
                print(path, wrong)
    transaction.set_rollback(True)
"""


def test_each_part_of_the_bare_site_gets_its_answers_and_a_row_that_lost_an_order_is_seen() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK_EACH_PART], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    ways = ("drf-post", "row-lock", "conditional")
    assert done.stdout.splitlines() == [
        "django-view 1",
        *(f"{way}{ending} 1" for ending in ("", "-crowd") for way in ways),
        "/row-lock/ 0 orders, but 1 units were taken from the row",
        "/conditional/ 0 orders, but 1 units were taken from the row",
        "/row-lock/ 2 buyers were told yes, but there are 1 orders",
        "/conditional/ 2 buyers were told yes, but there are 1 orders",
    ]
