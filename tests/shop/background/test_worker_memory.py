"""The processes of a worker share what their parent has loaded."""

import subprocess
import sys

# As a worker does before it starts its processes.
LOAD = """
import gc
from shop.celery import app
app.loader.import_default_modules()
print(gc.get_freeze_count(), len(gc.get_objects()))
"""


def test_a_collection_looks_at_nothing_that_a_worker_has_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD], check=True, capture_output=True, text=True)
    lasting, looked_at = map(int, done.stdout.split())
    assert lasting > 100 * looked_at
