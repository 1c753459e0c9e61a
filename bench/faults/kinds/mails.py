"""The mail server refuses, then is away. Orders go on without it, and every mail that is owed is sent in the end."""

from collections.abc import Sequence

from django.contrib.auth import get_user_model
from django.db import connection

from bench.faults.fault import Fault, Stage
from bench.faults.mail_sink import MailSink
from bench.load_buyers import NAME_PREFIX
from orders.mails.sending import OVERTAKEN
from orders.models import Mail

# A refused mail is tried again after a minute.
MAILS_SECONDS_MAX = 100.0
ADDRESS = "buyer@example.invalid"


class MailsFailing(Fault):
    name = "mails-failing"
    what = "the mail server is away and then refuses every mail, for 6 s in all"
    begins_seconds = (0.0, 0.3)
    lasts_seconds = 4.0

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._sink: MailSink | None = None

    def inject(self) -> None:
        """Until now nobody listens; the buyers get an address, so that there is something to send."""
        self._give_addresses(ADDRESS)
        self.site.wait(2.0)
        self._sink = MailSink(self.site.mail_port)
        self._sink.refuses = True

    def heal(self) -> None:
        assert self._sink is not None
        self._sink.refuses = False

    def broken(self) -> Sequence[str]:
        assert self._sink is not None
        try:
            self.site.wait_until(lambda: not self._unsent(), seconds_max=MAILS_SECONDS_MAX)
        finally:
            self._sink.stop()
            self._give_addresses("")
        unsent, twice = self._unsent(), len(self._sink.message_ids) - len(set(self._sink.message_ids))
        self.variant = f"{self._sink.refused} refused, {len(self._sink.message_ids)} sent"
        words = {f"{unsent} mails were not sent": unsent, f"{twice} mails were sent twice": twice}
        return [word for word, count in words.items() if count]

    def struck(self) -> bool:
        return self._sink is not None and bool(self._sink.message_ids)

    def _unsent(self) -> int:
        connection.close()
        # A mail that is overtaken by the next state of its order is not owed any more.
        owed = Mail.objects.filter(order__lines__sale_item=self.stage.item, sent_at=None).exclude(last_error=OVERTAKEN)
        return owed.count()

    def _give_addresses(self, address: str) -> None:
        get_user_model().objects.filter(username__startswith=NAME_PREFIX).update(email=address)
