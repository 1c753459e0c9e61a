"""Every queue has a worker, and no task runs so long that the broker delivers it a second time."""

import re
from pathlib import Path

from django.conf import settings

from orders import tasks
from shop.background.queued_tasks import QUEUES
from shop.celery import app
from shop.local.environment import RunSettings
from shop.local.shop_processes import ROOT, processes

TASKS = [task for name, task in vars(tasks).items() if getattr(task, "name", "").startswith("orders.tasks.")]


def queues_of_workers() -> list[list[str]]:
    local = RunSettings(host="127.0.0.1", port=0, directory=Path("none"), own_servers=None, allowed_hosts=[])
    argvs = [process.argv for process in processes(settings=local, broker_url="memory://")]
    return [list(argv)[list(argv).index("-Q") + 1].split(",") for argv in argvs if "-Q" in argv]


def test_every_queue_is_taken_by_one_worker_and_the_readme_names_it() -> None:
    taken = [queue for queues in queues_of_workers() for queue in queues]
    assert sorted(taken) == sorted({*QUEUES.values(), app.conf.task_default_queue})
    text = (ROOT / "README.md").read_text()
    readme = [line.split(",") for line in re.findall(r"celery -q -A shop worker -n \S+ -Q (\S+)", text)]
    assert readme == queues_of_workers()


def test_repairs_of_the_store_have_a_worker_of_their_own() -> None:
    assert ["repair"] in queues_of_workers()
    routed = {name for name, queue in QUEUES.items() if queue == "repair"}
    assert routed == {"orders.tasks.watch_store", "orders.tasks.audit_sales", "orders.tasks.archive_sales"}


def test_a_task_that_may_outlast_the_visibility_timeout_is_acknowledged_first() -> None:
    visible_seconds = app.conf.broker_transport_options["visibility_timeout"]
    long = [task for task in TASKS if (task.time_limit or settings.CELERY_TASK_TIME_LIMIT) >= visible_seconds]
    assert {task.name for task in long} >= {"orders.tasks.watch_store", "orders.tasks.audit_sales"}
    assert not any(task.acks_late for task in long)
