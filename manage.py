#!/usr/bin/env python
"""The command line of the shop; `python manage.py help` lists the commands."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError, ProgrammingError
from psycopg.errors import UndefinedColumn, UndefinedTable

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(str(error))
    except ProgrammingError as error:
        if not isinstance(error.__cause__, UndefinedColumn | UndefinedTable) or "--traceback" in sys.argv:
            raise
        missing = " ".join(str(error).split())
        sys.exit(f"PostgreSQL lacks tables of this release, run `manage.py migrate` first: {missing}")
    except OperationalError as error:
        # A statement that PostgreSQL has refused has a code; where it stands is said by the traceback.
        if getattr(error.__cause__, "sqlstate", None) or "--traceback" in sys.argv:
            raise
        sys.exit(f"PostgreSQL does not answer: {' '.join(str(error).split())}")
