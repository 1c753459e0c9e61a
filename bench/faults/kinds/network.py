"""What gets lost, stalled or cut on the way between processes that are well."""

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault
from bench.faults.proxy import Mode, Trap

STRIKE_SECONDS_MAX = 15.0


class LostInTrap(Fault):
    """Some requests that contain a pattern lose their answer, or are lost themselves."""

    links: tuple[str, ...] = ()
    pattern = b""
    prelude = b""
    deliver = True
    lost_max = 8
    lasts_seconds = 3.0

    def inject(self) -> None:
        count = self.dice.randint(self.lost_max // 2, self.lost_max)
        self.variant = f"{count} times"
        self.trap = Trap(pattern=self.pattern, prelude=self.prelude, deliver=self.deliver, left=count)
        self.site.proxy.arm(self.trap, *self.links)
        self.site.wait_until(self.trap.sprung.is_set, seconds_max=STRIKE_SECONDS_MAX)

    def heal(self) -> None:
        self.trap.left = 0

    def struck(self) -> bool:
        return self.trap.sprung.is_set()


class AnswerLostFromStore(LostInTrap):
    name = "answer-lost-from-store"
    what = "the store holds the units, and its answer is lost on the way to the web process"
    links = ("web-store",)
    pattern = b"EVALSHA"


class RequestLostToStore(LostInTrap):
    name = "request-lost-to-store"
    what = "the question is lost on the way from the web process to the store"
    links = ("web-store",)
    pattern = b"EVALSHA"
    deliver = False


class AnswerLostToBuyer(LostInTrap):
    name = "answer-lost-to-buyer"
    what = "the answer is lost on the way to the buyer, who calls again with the same pass"
    links = ("buyers-web1", "buyers-web2")
    pattern = b"/reservations/"


class AcknowledgementLost(LostInTrap):
    name = "acknowledgement-lost"
    what = "the worker's acknowledgement of outbox entries is lost on the way to the store"
    links = ("worker-store",)
    pattern = b"XACK"
    deliver = False
    lost_max = 3


class SwitchedLink(Fault):
    """Links are switched to another mode for a while."""

    links: tuple[str, ...] = ()
    mode = Mode.CUT
    lasts_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)

    def inject(self) -> None:
        self.site.proxy.switch(self.mode, *self.links)

    def heal(self) -> None:
        self.site.proxy.switch(Mode.PASS, *self.links)


class StoreLinkStalled(SwitchedLink):
    name = "store-link-stalled"
    what = "nothing comes through between the web processes and the store, and no connection breaks, for 5 s"
    links = ("web-store",)
    mode = Mode.STALL
    refusals_are_timed = True


class StoreLinkCut(SwitchedLink):
    name = "store-link-cut"
    what = "every connection of web and worker to the store is reset, for 5 s"
    links = ("web-store", "worker-store")
    refusals_are_timed = True


class StoreRefuses(SwitchedLink):
    name = "store-link-refused"
    what = "nobody listens at the store's address, for 5 s"
    links = ("web-store", "worker-store")
    mode = Mode.REFUSE
    refusals_are_timed = True


class PostgresLinkStalled(SwitchedLink):
    name = "postgres-link-stalled"
    what = "nothing comes through between the worker and PostgreSQL, for 8 s"
    links = ("worker-postgres",)
    mode = Mode.STALL
    lasts_seconds = 8.0
    demand = Demand(arrival_seconds=11.0)
