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

SAVES_A_PRODUCT = """
from shop.models import Product
product = Product.objects.create(slug="tea", name_en="Tea", name_de="Tee")
product.name_de = "Grüner Tee"
product.save()
print([record.name_de for record in Product.history.order_by("history_id")])
"""


@pytest.fixture
def copied_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The address of a copy of the test database, with all tables and no rows of tests."""
    with django_db_blocker.unblock():
        settings, name = connection.settings_dict, f"languages_{uuid4().hex}"
        connection.close()
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} TEMPLATE {settings['NAME']}")
        try:
            yield os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
        finally:
            with connection._nodb_cursor() as cursor:
                cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def run(*arguments: str, database_url: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url, "SHOP_LANGUAGES": "en,zh-hans,de"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_product_is_saved_in_a_language_that_was_added_and_so_is_its_history(copied_database: str) -> None:
    added = run("add_languages", database_url=copied_database)
    assert "shop_product.name_de" in added
    assert "shop_historicalproduct.name_de" in added
    assert "0 columns added" in run("add_languages", database_url=copied_database)
    assert "['Tee', 'Grüner Tee']" in run("shell", "-c", SAVES_A_PRODUCT, database_url=copied_database)
