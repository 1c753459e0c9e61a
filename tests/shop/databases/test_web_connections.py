"""A statement of a web process ends before the proxy stops waiting; those of workers and commands may take longer."""

import subprocess
import sys

import pytest

from shop.configuration.database_connections import WEB_STATEMENT_SECONDS, bound_statements, databases

# As the web server does, which loads the application and then opens connections.
ASK = """
import {module}
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SHOW statement_timeout")
    print(cursor.fetchone()[0])
"""


@pytest.mark.parametrize(("module", "shown"), [("web.rsgi", f"{WEB_STATEMENT_SECONDS}s"), ("shop.celery", "0")])
def test_statements_of_web_processes_alone_are_bounded(module: str, shown: str) -> None:
    done = subprocess.run([sys.executable, "-c", ASK.format(module=module)], check=True, capture_output=True, text=True)
    assert done.stdout.split()[-1] == shown


def test_a_pooled_connection_sends_no_options() -> None:
    """PgBouncer refuses them: there the role has the bound. The replica may be behind a pooler too."""
    found = databases(
        url="postgres://a@b/c", direct_url="postgres://a@d/c", replica_url="postgres://a@e/c", argv=["granian"]
    )
    bound_statements(found)
    assert "options" not in found["default"]["OPTIONS"]
    assert "options" not in found["replica"]["OPTIONS"]
    assert f"statement_timeout={WEB_STATEMENT_SECONDS}s" in found["direct"]["OPTIONS"]["options"]


def test_statements_on_a_replica_of_a_shop_without_a_pooler_are_bounded() -> None:
    found = databases(url="postgres://a@b/c", direct_url="", replica_url="postgres://a@e/c", argv=["granian"])
    bound_statements(found)
    for alias in ("default", "replica"):
        assert f"statement_timeout={WEB_STATEMENT_SECONDS}s" in found[alias]["OPTIONS"]["options"]
