"""How far a sale has come, counted by the buyers' processes, so that a fault strikes at a known point of it."""

from multiprocessing.context import SpawnContext

from bench.lab.buyers.calls import NOT_SENT, SOLD, Result


class SaleProgress:
    """Counters in memory that all processes of a pool share. Each client has its own, so none waits for another."""

    def __init__(self, context: SpawnContext, *, clients: int) -> None:
        self._answers = context.RawArray("l", clients)
        self._units_sold = context.RawArray("l", clients)
        # Clients keep some of their calls until this is set, so that there are always calls left after a fault.
        self.fault_is_over = context.Event()

    def reset(self) -> None:
        """Start counting for a new sale."""
        for client in range(len(self._answers)):
            self._answers[client] = self._units_sold[client] = 0
        self.fault_is_over.clear()

    def add(self, result: Result, *, client: int) -> None:
        """Count the result of a call."""
        self._answers[client] += result.answer != NOT_SENT
        self._units_sold[client] += result.units if result.answer == SOLD else 0

    @property
    def answers(self) -> int:
        return sum(self._answers)

    @property
    def units_sold(self) -> int:
        return sum(self._units_sold)
