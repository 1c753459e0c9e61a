"""The queue of each Celery task, and how often beat sends it. The tasks are in `tasks.py` of `orders` and `shop`."""

from typing import Any

ROUTES = {
    "orders.tasks.drain_outbox": {"queue": "drain"},
    "orders.tasks.sweep_outboxes": {"queue": "drain"},
    "orders.tasks.return_unsold_units": {"queue": "drain"},
    "orders.tasks.expire_overdue": {"queue": "expiry"},
    "orders.tasks.settle_orders": {"queue": "expiry"},
    # These may take minutes for a large item, and orders should not wait for them.
    "orders.tasks.watch_store": {"queue": "repair"},
    "orders.tasks.audit_sales": {"queue": "repair"},
    "orders.tasks.archive_sales": {"queue": "repair"},
    # These take seconds, and are as little urgent as mails.
    "shop.tasks.sweep_pictures": {"queue": "mail"},
    "shop.tasks.draw_demo_pictures": {"queue": "mail"},
    "orders.tasks.send_mails": {"queue": "mail"},
    "orders.tasks.apply_waiting_events": {"queue": "expiry"},
    # These wait for other companies, and other tasks should not wait for them.
    "orders.tasks.move_refunds": {"queue": "payments"},
    "orders.tasks.close_sessions": {"queue": "payments"},
    "orders.tasks.deliver_simulated_events": {"queue": "payments"},
}


def schedule(*, simulated: bool) -> dict[str, dict[str, Any]]:
    """How often beat sends each task, with the simulated payment company or without it.

    All of them are sweeps. A late one expires, since the next one does the same. After two hours, because the expiry is
    compared with the worker's clock, which may be an hour off.
    """
    every_seconds = {
        "sweep_outboxes": 1.0,
        "expire_overdue": 1.0,
        "settle_orders": 1.0,
        "watch_store": 1.0,
        "return_unsold_units": 10.0,
        "send_mails": 5.0,
        "audit_sales": 60.0,
        "forget_ended_holds": 10.0,
        "archive_sales": 600.0,
        "clear_old_rows": 3600.0,
        "apply_waiting_events": 1.0,
        "move_refunds": 1.0,
        "close_sessions": 1.0,
    }
    if simulated:
        every_seconds["deliver_simulated_events"] = 1.0
    tasks = {f"orders.tasks.{name}": seconds for name, seconds in every_seconds.items()}
    tasks["shop.tasks.sweep_pictures"] = 24 * 3600.0
    return {
        task.rpartition(".")[2]: {"task": task, "schedule": seconds, "options": {"expires": 7200}}
        for task, seconds in tasks.items()
    }
