"""What a Celery worker says when it is asked to stop, and warnings, with a time, as all lines of the shop.

Celery writes these words past the logging, since a signal may come in the middle of it. Loaded by workers alone
(shop/celery.py).
"""

import json
import logging
import os
from datetime import UTC, datetime

from celery.apps import worker

STANDARD_ERROR = 2


def say(message: str, *_file: object) -> None:
    """In a signal handler: one write, and no lock."""
    line = f"timestamp={datetime.now(UTC).isoformat()} level=warning event={json.dumps(message)} logger=celery\n"
    os.write(STANDARD_ERROR, line.encode())


vars(worker)["safe_say"] = say
logging.captureWarnings(True)
