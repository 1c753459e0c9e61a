"""Beat of the shared shop: each sweep comes, half as often. While a browser waits, most messages find nothing to do."""

from typing import Any

from shop.background.sweep_scheduler import SweepScheduler

PACE = 2.0


class CalmScheduler(SweepScheduler):
    """Leaves out the queue that the worker of the shared shop does not take from."""

    def merge_inplace(self, entries: dict[str, Any]) -> None:
        taken = {name: entry for name, entry in entries.items() if entry["options"]["queue"] != "repair"}
        calm: Any = {name: {**entry, "schedule": PACE * entry["schedule"]} for name, entry in taken.items()}
        super().merge_inplace(calm)
