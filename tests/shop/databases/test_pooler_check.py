"""`manage.py check --deploy` behind a real PgBouncer names what the role lacks, in a sentence that can be pasted."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import connection

from shop.configuration.database_connections import SESSION_TIMEOUTS
from tests.other_database import own_url, shop_on
from tests.own_pooler import OwnPooler, running_pooler

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[3]
PASSWORD = "of-a-test"


@pytest.fixture
def role() -> Iterator[str]:
    """One that may do everything, as no other test may see what is set for it."""
    name = f"pooled_{secrets.token_hex(4)}"
    tell(f"CREATE ROLE {name} SUPERUSER LOGIN PASSWORD '{PASSWORD}'")
    yield name
    tell(f"DROP ROLE {name}")


@pytest.fixture
def pooler(role: str, server_directory: Path) -> Iterator[OwnPooler]:
    with running_pooler(server_directory, **{role: PASSWORD}) as pooler:
        yield pooler


def tell(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def as_role(url: str, role: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{role}:{PASSWORD}@{parts.netloc.rpartition('@')[2]}").geturl()


def found(*, url: str, direct_url: str) -> list[CheckMessage]:
    with shop_on(url, direct_url=direct_url):
        return run_checks(tags=["pooler"], include_deployment_checks=True)


def test_each_missing_timeout_is_named_with_the_sentence_that_sets_it(pooler: OwnPooler, role: str) -> None:
    pooled = as_role(pooler.url, role)
    errors = found(url=pooled, direct_url=own_url())
    assert [error.id for error in errors] == ["shop.E001"] * len(SESSION_TIMEOUTS)
    sentences = re.findall(r'ALTER ROLE "\w+" SET \w+ = \'\w+\';', " ".join(str(error.hint) for error in errors))
    assert f"ALTER ROLE \"{role}\" SET idle_in_transaction_session_timeout = '30s';" in sentences
    assert f"ALTER ROLE \"{role}\" SET lock_timeout = '10s';" in sentences
    assert f"ALTER ROLE \"{role}\" SET tcp_keepalives_idle = '10';" in sentences
    for sentence in sentences:
        tell(sentence)
    console = urlsplit(pooler.url)._replace(path="/pgbouncer").geturl()
    with psycopg.connect(console, autocommit=True) as admin:
        admin.execute("RECONNECT")
    assert found(url=pooled, direct_url=own_url()) == []

    # A shorter one is as good, a longer one is not.
    tell(f"ALTER ROLE {role} SET tcp_keepalives_idle = '5'")
    tell(f"ALTER ROLE {role} SET idle_in_transaction_session_timeout = '5min'")
    with psycopg.connect(console, autocommit=True) as admin:
        admin.execute("RECONNECT")
    [error] = found(url=pooled, direct_url=own_url())
    assert error.id == "shop.E001"
    assert "idle_in_transaction_session_timeout is 300000" in error.msg


def test_a_direct_address_of_another_database_or_where_nobody_answers_is_an_error(pooler: OwnPooler, role: str) -> None:
    pooled = as_role(pooler.url, role)
    other = urlsplit(own_url())._replace(path="/postgres").geturl()
    assert "shop.E003" in {error.id for error in found(url=pooled, direct_url=other)}
    nowhere = "postgres://nobody:none@127.0.0.1:1/none"
    assert "shop.E002" in {error.id for error in found(url=pooled, direct_url=nowhere)}
