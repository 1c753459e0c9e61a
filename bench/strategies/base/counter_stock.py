"""A stock that is one counter under one key. Several strategies share this."""

from typing import Any

from bench.strategies.base.strategy import Strategy, Surroundings


class CounterStock(Strategy):
    """The stock is the integer at `<name>:stock`."""

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.key = f"{name}:stock"

    def set_stock(self, units: int) -> None:
        self.store.set(self.key, units)

    def left(self) -> int | None:
        value: Any = self.store.get(self.key)
        return None if value is None else int(value)

    def tear_down(self) -> None:
        self.store.delete(self.key)
