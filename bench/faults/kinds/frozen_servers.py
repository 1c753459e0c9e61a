"""Servers and clients that are there and do not answer: PostgreSQL stopped, bodies that never come."""

import socket
from collections.abc import Sequence

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part
from bench.faults.history import Action

# For each of the two web processes; more than the threads that they have for pages.
SOCKETS_PER_WEB = 20
ANNOUNCED = (
    b"POST /api/v1/auth/token/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100\r\n\r\n"
)


class SellingGoesOn(Fault):
    """Buyers with a pass must be told yes while it lasts."""

    refusals_are_timed = True

    def inject(self) -> None:
        self._yeses_before = self._yeses()
        self.hold()

    def undo(self) -> None:
        self._yeses_meanwhile = self._yeses() - self._yeses_before
        self.let_go()

    def violations(self) -> Sequence[str]:
        return () if self._yeses_meanwhile else ["no buyer was told yes while it lasted"]

    def hold(self) -> None:
        """Begin it."""

    def let_go(self) -> None:
        """End it."""

    def _yeses(self) -> int:
        events = self.context.history.of(self.context.trial)
        return sum(1 for event in events if event.action is Action.RESERVE and event.is_answer and event.status == 201)


class PostgresFrozen(SellingGoesOn):
    """Connections are accepted by the kernel, and nothing is answered."""

    name = "postgres-frozen"
    description = "SIGSTOP to PostgreSQL and all its processes for 20 s"
    duration_seconds = 20.0
    demand = Demand(buyers=80, arrival_seconds=22.0)
    # Calls that need PostgreSQL get 503 after 2 s, or when the query that they wait for is answered.
    refusals_are_timed = False

    def hold(self) -> None:
        self.shop.freeze("postgres")

    def let_go(self) -> None:
        self.shop.thaw("postgres")


class SlowBodies(SellingGoesOn):
    name = "slow-request-bodies"
    description = "40 clients announce a request body and send none, for 6 s"
    duration_seconds = 6.0
    demand = Demand(arrival_seconds=10.0)
    disturbs = frozenset({Part.WEB})
    needs = frozenset({Part.STORE})

    def hold(self) -> None:
        self._sockets = [
            socket.create_connection(("127.0.0.1", port), timeout=5)
            for port in self.context.ports
            for _ in range(SOCKETS_PER_WEB)
        ]
        for each in self._sockets:
            each.sendall(ANNOUNCED)

    def let_go(self) -> None:
        for each in self._sockets:
            each.close()
