"""A shop adds a language by a setting and one command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

ROOT = Path(__file__).resolve().parents[2]

SECOND_TIME = "the second time"
# A program of its own: each model has its languages from the start.
ADDS_A_LANGUAGE = f"""
from django.core.management import call_command
from shop.models import Product
call_command("add_languages")
print("{SECOND_TIME}")
call_command("add_languages")
product = Product.objects.create(slug="tea", name_en="Tea", name_de="Tee")
product.name_de = "Grüner Tee"
product.save()
print([record.name_de for record in Product.history.order_by("history_id")])
"""


@pytest.fixture
def copied_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The address of one more copy of the migrated database: PostgreSQL copies none that somebody is connected to."""
    with django_db_blocker.unblock():
        migrated, name = connection.settings_dict["TEST"]["TEMPLATE"], f"languages_{uuid4().hex}"
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} TEMPLATE {migrated}")
        try:
            yield os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
        finally:
            with connection._nodb_cursor() as cursor:
                cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_product_is_saved_in_a_language_that_was_added_and_so_is_its_history(copied_database: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-c", ADDS_A_LANGUAGE],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": copied_database, "SHOP_LANGUAGES": "en,zh-hans,de"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    first, again = done.stdout.split(SECOND_TIME)
    assert "shop_product.name_de" in first
    assert "shop_historicalproduct.name_de" in first
    assert "0 columns added" in again
    assert "['Tee', 'Grüner Tee']" in again
