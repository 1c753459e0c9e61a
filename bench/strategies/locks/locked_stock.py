"""The stock that the locks guard: a plain counter, read and then decremented in two commands."""

from bench.strategies.base.strategy import Answer, Strategy, Surroundings

# One second of tries in all: much longer than a queue of live holders takes, and a bound if the holder was killed.
TRIES_MAX = 200
PAUSE_SECONDS = 0.005


class LockedStock(Strategy):
    """The counter and the two commands on it. Each strategy has its own way to take and to release the lock."""

    tries_max = TRIES_MAX
    pause_seconds = PAUSE_SECONDS

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.stock = f"{name}:stock"
        self.lock = f"{name}:lock"
        if surroundings.lease_seconds is not None:
            self.lease_seconds = surroundings.lease_seconds

    @property
    def lease_ms(self) -> int:
        return max(1, round(self.lease_seconds * 1000))

    def set_stock(self, units: int) -> None:
        self.store.delete(self.lock)
        self.store.set(self.stock, units)

    def check_then_decr(self, units: int) -> Answer:
        """Check and decrement in two commands, which is safe for the holder of the lock."""
        if int(self.store.get(self.stock) or 0) < units:
            return Answer.REFUSED
        self.store.decrby(self.stock, units)
        return Answer.SOLD

    def left(self) -> int | None:
        value = self.store.get(self.stock)
        return None if value is None else int(value)

    def tear_down(self) -> None:
        self.store.delete(self.stock, self.lock)
