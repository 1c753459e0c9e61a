"""The pre-flight of a sale: everything that must be so before it opens, looked at now.

Each line is good, a warning, or a stop: with a stop, buyers would be refused, or could not pay, or the sale would not
open. Settings of the shop are judged by the checks of `manage.py check --deploy`; here is what depends on the sale, on
the servers of this moment, and on the processes that run. The command and the page of the admin show the same lines.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from django.db import DatabaseError
from django.utils.translation import gettext_lazy as _

from orders.preflight.admission_look import look_at_admission
from orders.preflight.finding import Finding, stop
from orders.preflight.limit_look import look_at_limits
from orders.preflight.load_look import look_at_load
from orders.preflight.page_look import look_at_pages
from orders.preflight.process_looks import findings_about_workers, look_at_mail, look_at_payments, look_at_workers
from orders.preflight.rehearsal_verdict import look_at_rehearsal
from orders.preflight.sale_looks import look_at_languages, look_at_terms, look_at_window
from orders.preflight.server_looks import look_at_clocks, look_at_memory, look_at_settings, look_at_stock
from seckill.models import Sale
from seckill.store.client import StoreUnreachable
from shop.background.outages import AWAY, one_line
from shop.languages.kept_texts import Text


class Look(NamedTuple):
    """One thing to look at. `find` may take seconds."""

    title: Text
    find: Callable[[Sale], Iterator[Finding]]


LOOKS: tuple[Look, ...] = (
    Look(_("Opening and end"), look_at_window),
    Look(_("Terms and publishing"), look_at_terms),
    Look(_("Admission"), look_at_admission),
    Look(_("Languages"), look_at_languages),
    Look(_("Settings and durability"), look_at_settings),
    Look(_("Clocks"), look_at_clocks),
    Look(_("Memory of the reservation store"), look_at_memory),
    Look(_("Units in both stores"), look_at_stock),
    Look(_("Workers and beat"), look_at_workers),
    Look(_("Time to write the orders, and load"), look_at_load),
    Look(_("Public pages"), look_at_pages),
    Look(_("Limits and proxies"), look_at_limits),
    Look(_("Payments"), look_at_payments),
    Look(_("Mails"), look_at_mail),
    Look(_("Rehearsal"), look_at_rehearsal),
)


def preflight(sale: Sale) -> Iterator[Finding]:
    """Each finding as soon as it is there."""
    for look in LOOKS:
        yield from findings_of(look, sale)


def findings_of(look: Look, sale: Sale, *, silent: Sequence[str] | None = None) -> Iterator[Finding]:
    """A server that is away is a stop. `silent` are the queues without a worker, where that is known already."""
    try:
        if look.find is look_at_workers and silent is not None:
            yield from findings_about_workers(silent)
        else:
            yield from look.find(sale)
    except StoreUnreachable as error:
        yield stop(
            _("The reservation store does not answer: %(error)s"),
            _("Start it, or mend its address in SECKILL_REDIS_URL. Until then no buyer is told yes."),
            error=one_line(error),
        )
    except DatabaseError as error:
        yield stop(
            _("PostgreSQL does not answer: %(error)s"),
            _("Start it, or mend DATABASE_URL."),
            error=one_line(error),
        )
    except AWAY as error:
        yield stop(
            _("The cache or the broker does not answer: %(error)s"),
            _("Start it, or mend REDIS_URL and CELERY_BROKER_URL."),
            error=one_line(error),
        )
