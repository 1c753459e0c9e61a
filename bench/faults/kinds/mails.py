"""The mail server is down and then refuses. Orders go on without it, and every mail is sent in the end."""

import socketserver
import threading
from collections.abc import Sequence
from email import message_from_bytes

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import F, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Concat

from bench.faults.fault import INJECT_SECONDS_MAX, Fault, TrialContext
from bench.load_buyers import NAME_PREFIX
from orders.mails.sending import OVERTAKEN
from orders.models import Mail

# A refused mail is tried again after a minute.
MAILS_SECONDS_MAX = 100.0
# One for each buyer: a single address gets only a few mails about expired orders in a day.
ADDRESS = Concat(F("username"), Value("@example.invalid"))
NO_ADDRESS = Value("")


class MailsFailing(Fault):
    name = "mails-failing"
    description = "the mail server is down for 2 s and then refuses every mail, for 4 s or longer"
    starts_after_seconds = (0.0, 0.3)
    duration_seconds = 4.0

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._sink: MailSink | None = None

    def inject(self) -> None:
        """Give the buyers an address, so that there are mails; no server listens yet. Then start one that refuses."""
        self._give_addresses(ADDRESS)
        self.shop.wait(2.0)
        sink = self._sink = MailSink(self.shop.mail_port)
        sink.refuses = True
        # On a busy machine the first mail comes late.
        self.shop.wait_until(lambda: sink.refused > 0, seconds_max=INJECT_SECONDS_MAX)

    def undo(self) -> None:
        assert self._sink is not None
        self._sink.refuses = False

    def violations(self) -> Sequence[str]:
        assert self._sink is not None
        try:
            self.shop.wait_until(lambda: not self._unsent(), seconds_max=MAILS_SECONDS_MAX)
        finally:
            self._sink.stop()
            self._give_addresses(NO_ADDRESS)
        unsent, twice = self._unsent(), len(self._sink.message_ids) - len(set(self._sink.message_ids))
        self.variant = f"{self._sink.refused} refused, {len(self._sink.message_ids)} sent"
        counts = {f"{unsent} mails were not sent": unsent, f"{twice} mails were sent twice": twice}
        return [violation for violation, count in counts.items() if count]

    def took_effect(self) -> bool:
        return self._sink is not None and bool(self._sink.refused and self._sink.message_ids)

    def _unsent(self) -> int:
        connection.close()
        # A mail is dropped when the next state of its order makes it obsolete.
        owed = Mail.objects.filter(order__lines__sale_item=self.context.item, sent_at=None).exclude(
            last_error=OVERTAKEN
        )
        return owed.count()

    def _give_addresses(self, address: Combinable) -> None:
        get_user_model().objects.filter(username__startswith=NAME_PREFIX).update(email=address)


class MailSink:
    """Listens from its creation; `refuses` may be set from any thread."""

    def __init__(self, port: int) -> None:
        self.refuses = False
        self.refused = 0
        self.message_ids: list[str] = []
        self._lock = threading.Lock()
        sink = self

        class SmtpSession(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 sink\r\n")
                for line in self.rfile:
                    verb = line[:4].upper().strip()
                    if verb == b"DATA":
                        self.wfile.write(b"354 go on\r\n")
                        self.wfile.write(sink.take(self._message()))
                    elif verb == b"QUIT":
                        self.wfile.write(b"221 bye\r\n")
                        return
                    else:
                        self.wfile.write(b"250 sink\r\n")

            def _message(self) -> bytes:
                lines = []
                for line in self.rfile:
                    if line == b".\r\n":
                        break
                    lines.append(line)
                return b"".join(lines)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", port), SmtpSession)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="mail sink", daemon=True)
        self._thread.start()

    def take(self, message: bytes) -> bytes:
        """Keep the message or refuse it. Returns the reply."""
        with self._lock:
            if self.refuses:
                self.refused += 1
                return b"451 not now\r\n"
            self.message_ids.append(str(message_from_bytes(message)["Message-ID"]))
            return b"250 kept\r\n"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
