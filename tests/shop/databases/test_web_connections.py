"""A statement of a web process ends before the proxy stops waiting; those of workers and commands may take longer."""

import os
import subprocess
import sys

from shop.configuration.database_connections import WEB_STATEMENT_SECONDS, bound_statements, databases
from tests.steps.operating import settings_of

# As the web server does, which loads the application and then opens connections.
ASK = """
import web.rsgi
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SHOW statement_timeout")
    print(cursor.fetchone()[0])
"""


def test_statements_of_web_processes_alone_are_bounded() -> None:
    done = subprocess.run([sys.executable, "-c", ASK], check=True, capture_output=True, text=True)
    assert done.stdout.split()[-1] == f"{WEB_STATEMENT_SECONDS}s"
    of_a_worker = settings_of(os.environ, argv=["celery"])["DATABASES"]["default"]
    assert "statement_timeout" not in of_a_worker["OPTIONS"]["options"]


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
