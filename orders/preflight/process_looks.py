"""Looks at what works beside the web processes: workers, beat, payment providers, mails."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from django.core.exceptions import ImproperlyConfigured
from django.core.mail import get_connection
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from orders.payments.provider.interface import ProviderRefused, ProviderUnreachable
from orders.payments.provider.names import chosen_providers
from orders.payments.provider_choice import provider_named
from orders.preflight.canaries import silent_queues
from orders.preflight.finding import Finding, good, stop, time_since, warning
from orders.preflight.trial_mail import last_trial
from orders.repair.audit import last_result
from seckill.models import Sale
from shop.background.outages import one_line
from shop.configuration.demo_guard import is_trial

# An audit runs every minute. After three of them are missed, beat or its worker does not run.
AUDIT_AGE_SECONDS_MAX = 200


def look_at_workers(_sale: Sale) -> Iterator[Finding]:
    yield from findings_about_workers(silent_queues())


def findings_about_workers(silent: Sequence[str]) -> Iterator[Finding]:
    """`silent` are the queues from which no worker took a message."""
    if silent:
        yield stop(
            _("No worker takes messages of these queues: %(queues)s."),
            _("Start a worker for each (README, “Deploying”), or wait until it has caught up."),
            queues=", ".join(silent),
        )
    else:
        yield good(_("A message went through each queue: workers take them."))
    result = last_result()
    age_seconds = timezone.now().timestamp() - result[0] if result else None
    if age_seconds is None or age_seconds > AUDIT_AGE_SECONDS_MAX:
        todo = _(
            "Start Celery beat, and the worker of the queue repair. On a shop that has just started, wait a minute."
        )
        if age_seconds is None:
            text = _("No audit has been made, though beat asks for one every minute: unpaid orders might not expire.")
            if is_trial():
                # `make run` sees to beat and workers itself: it has just started.
                yield warning(text, todo)
                return
        else:
            text = _(
                "The last audit was %(minutes)s minutes ago, though beat asks for one every minute: unpaid orders "
                "might not expire."
            )
        yield stop(text, todo, minutes=f"{(age_seconds or 0) / 60:.0f}")
    else:
        text = _("Celery beat runs: the last audit was %(seconds)s seconds ago.")
        yield good(text, seconds=f"{age_seconds:.0f}")


def look_at_payments(_sale: Sale) -> Iterator[Finding]:
    """Each provider with which buyers can pay answers, and accepts the shop's keys."""
    try:
        names = chosen_providers()
    except ImproperlyConfigured:
        # The look at the settings says so.
        names = []
    if not names:
        yield warning(
            _("Buyers cannot pay by themselves: no payment provider is chosen."),
            _("Name one in PAYMENT_PROVIDERS, unless staff record all payments."),
        )
    for name in names:
        try:
            provider_named(name).check_keys()
        except ProviderUnreachable as error:
            yield stop(
                _("The payment provider “%(name)s” does not answer: %(error)s"),
                _("Look at its status page and at the network of the hosts, then look again. Buyers could not pay."),
                name=name,
                error=one_line(error),
            )
        except (ProviderRefused, ImproperlyConfigured) as error:
            yield stop(
                _("The payment provider “%(name)s” refuses the shop's keys: %(error)s"),
                _("Set the keys that its site shows for this shop (docs/settings.md). Buyers could not pay."),
                name=name,
                error=one_line(error),
            )
        else:
            yield good(_("The payment provider “%(name)s” answers, with the shop's keys."), name=name)


def look_at_mail(sale: Sale) -> Iterator[Finding]:
    mail = get_connection()
    try:
        mail.open()
        mail.close()
    except OSError as error:
        yield stop(
            _("The mail server does not answer: %(error)s"),
            _("Mend EMAIL_URL. Mails wait, and go out afterwards."),
            error=one_line(error),
        )
    else:
        yield good(_("The mail server answers."))
    yield trial_finding(sale)


def trial_finding(sale: Sale) -> Finding:
    """About the last mail that somebody had sent to them."""
    trial = last_trial()
    if trial is None:
        return warning(
            _("No test mail was sent in the last seven days."),
            _("Press “Send me a test mail”, or call `manage.py sale_preflight %(sale)s --mail-to ADDRESS`."),
            sale=sale.pk,
        )
    ago = time_since(datetime.fromtimestamp(trial.asked_s, UTC))
    if trial.error is None:
        return warning(
            _("The test mail of %(ago)s ago is not sent yet."),
            _("Look again. If it stays so, no worker takes messages of the queue “mail”."),
            ago=ago,
        )
    if trial.error:
        return stop(
            _("The test mail of %(ago)s ago could not be sent: %(error)s"),
            _("Mend EMAIL_URL or DEFAULT_FROM_EMAIL, and send another one. Mails to buyers wait meanwhile."),
            ago=ago,
            error=trial.error,
        )
    return good(_("The mail server took the test mail of %(ago)s ago. Its reader knows whether it arrived."), ago=ago)
