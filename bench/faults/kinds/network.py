"""Messages are lost, or connections stall or break, between processes that work."""

from collections.abc import Sequence

from bench.faults.buyer_journey import Demand
from bench.faults.fault import INJECT_SECONDS_MAX, Fault, Part, TrialContext
from bench.faults.wire.front_proxy import FrontPorts, front_proxy
from bench.faults.wire.http_client import request
from bench.faults.wire.proxy import DropRule, Mode
from shop.local.ports import free_ports


class MessageLost(Fault):
    """Some requests that contain a pattern are lost, or their answers are."""

    links: tuple[str, ...] = ()
    pattern = b""
    deliver = True
    lost_max = 8
    duration_seconds = 3.0

    def inject(self) -> None:
        count = self.rng.randint(self.lost_max // 2, self.lost_max)
        self.variant = f"{count} times"
        self.rule = DropRule(pattern=self.pattern, deliver=self.deliver, remaining=count)
        self.shop.proxy.add_rule(self.rule, *self.links)
        self.shop.wait_until(self.rule.triggered.is_set, seconds_max=INJECT_SECONDS_MAX)

    def undo(self) -> None:
        self.rule.remaining = 0
        self.happened = self.rule.triggered.is_set()


class AnswerLostFromStore(MessageLost):
    name = "answer-lost-from-store"
    description = "the store holds the units, and its answer to the web process is lost"
    links = ("web-store",)
    pattern = b"EVALSHA"
    disturbs = frozenset({Part.STORE})


class RequestLostToStore(MessageLost):
    name = "request-lost-to-store"
    description = "the call from the web process to the store is lost"
    links = ("web-store",)
    pattern = b"EVALSHA"
    deliver = False
    disturbs = frozenset({Part.STORE})


class AnswerLostToBuyer(MessageLost):
    name = "answer-lost-to-buyer"
    description = "the answer to the buyer is lost, and the buyer calls again with the same pass"
    links = ("buyers-web1", "buyers-web2")
    pattern = b"/reservations/"
    disturbs = frozenset({Part.BUYERS})


class AcknowledgementLost(MessageLost):
    name = "acknowledgement-lost"
    description = "the worker's acknowledgement of outbox entries is lost"
    links = ("worker-store",)
    pattern = b"XACK"
    deliver = False
    lost_max = 3
    disturbs = frozenset({Part.STORE})


class SwitchedLink(Fault):
    """Links are in another mode for a while."""

    links: tuple[str, ...] = ()
    mode = Mode.CUT
    duration_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)

    def inject(self) -> None:
        self.shop.proxy.switch(self.mode, *self.links)

    def undo(self) -> None:
        self.shop.proxy.switch(Mode.PASS, *self.links)


class StoreLinkStalled(SwitchedLink):
    name = "store-link-stalled"
    description = "no data passes between the web processes and the store for 5 s, but connections stay open"
    links = ("web-store",)
    mode = Mode.STALL
    refusals_are_timed = True
    disturbs = frozenset({Part.STORE})


class StoreLinkCut(SwitchedLink):
    name = "store-link-cut"
    description = "every connection of web and workers to the store is reset, for 5 s"
    links = ("web-store", "worker-store")
    refusals_are_timed = True
    disturbs = frozenset({Part.STORE})


class StoreRefuses(SwitchedLink):
    name = "store-link-refused"
    description = "connections to the store are refused, for 5 s"
    links = ("web-store", "worker-store")
    mode = Mode.REFUSE
    refusals_are_timed = True
    disturbs = frozenset({Part.STORE})


class PostgresLinkStalled(SwitchedLink):
    name = "postgres-link-stalled"
    description = "no data passes between the workers and PostgreSQL for 8 s"
    links = ("worker-postgres",)
    mode = Mode.STALL
    duration_seconds = 8.0
    demand = Demand(arrival_seconds=11.0)
    disturbs = frozenset({Part.POSTGRES})


class BehindFrontProxy(Fault):
    """All buyers go through nginx or HAProxy, over TLS, which repeats reservations at the other web process."""

    program = ""
    # Killed so often: the proxy itself or a web process.
    target = ""
    kills = 3

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        http_port, https_port = free_ports(count=2)
        hot_port, pages_port = context.ports
        process = front_proxy(
            self.program,
            directory=self.shop.directory / self.program,
            ports=FrontPorts(http=http_port, https=https_port, hot=hot_port, pages=pages_port),
            ready=lambda _: request(https_port, "GET", "/healthz", tls=True).status == 200,
        )
        self.shop.add(self.program, process)
        self.shop.await_answers(self.program)
        context.front_ports.append(https_port)

    def inject(self) -> None:
        deaths = 0
        for _time in range(self.kills):
            self.shop.kill(self.target)
            deaths += not self.shop.processes[self.target].running
            self.shop.await_answers(self.target)
            self.shop.wait(self.rng.uniform(0.2, 0.8))
        self.happened = deaths == self.kills

    def violations(self) -> Sequence[str]:
        """None of its own. The buyers have brought their receipts by now, so the proxy may go."""
        self.shop.remove(self.program)
        return ()


class NginxRestarted(BehindFrontProxy):
    name = "nginx-restarted"
    description = "buyers go through nginx, which is killed with kill -9 three times and started again"
    program = target = "nginx"


class HaproxyRestarted(BehindFrontProxy):
    name = "haproxy-restarted"
    description = "buyers go through HAProxy, which is killed with kill -9 three times and started again"
    program = target = "haproxy"


class WebKilledBehindNginx(BehindFrontProxy):
    name = "web-killed-behind-nginx"
    description = "buyers go through nginx; kill -9 of the web process that answers reservations, three times"
    program, target = "nginx", "web1"


class WebKilledBehindHaproxy(BehindFrontProxy):
    name = "web-killed-behind-haproxy"
    description = "buyers go through HAProxy; kill -9 of the web process that answers reservations, three times"
    program, target = "haproxy", "web1"
