"""The look at the limits: does each buyer of the crowd get in, and is each counted by an address of its own."""

import secrets
from collections.abc import Iterator

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from orders.preflight.finding import Finding, good, stop, warning
from orders.preflight.page_look import NotAnswered, fetch
from orders.rehearsal.plan import BUYERS_FOR_A_UNIT
from seckill.models import Sale
from shop.http.client_address import network_of
from shop.http.rate_limits import count_of, rate_of
from shop.languages.kept_texts import filled

# Passes are given from ten minutes before the opening on, and buyers sign in then.
PREPARING_SECONDS = 600
# Of a large crowd about so many come through one address: a mobile network, a campus, a company.
SHARE_OF_ONE_ADDRESS = 100


def look_at_limits(sale: Sale) -> Iterator[Finding]:
    if settings.TRUSTED_PROXIES and client_chooses_address():
        yield stop(
            _("A client can choose its own address: TRUSTED_PROXIES is %(proxies)s, and fewer proxies are in front."),
            _(
                "Set TRUSTED_PROXIES to the number of proxies that append to X-Forwarded-For. Until then the limits by "
                "address stop nobody who writes that header."
            ),
            proxies=settings.TRUSTED_PROXIES,
        )
    if sale.has_draw:
        text = _(
            "A draw needs no passes, and people enter over hours: the limits have room. Trusted proxies: %(proxies)s."
        )
        yield good(text, proxies=settings.TRUSTED_PROXIES)
        return
    items = list(sale.items.all())
    if len(items) > rate_of(settings.PASS_LIMIT).amount:
        yield warning(
            _("The sale has %(items)s items, and an account gets passes at a rate of %(limit)s (PASS_LIMIT)."),
            _("Raise PASS_LIMIT, so that a buyer can try all items."),
            items=len(items),
            limit=settings.PASS_LIMIT,
        )
    buyers = sum(item.quantity or 0 for item in items) * BUYERS_FOR_A_UNIT
    # In a waiting room, people ask for a pass one after another, when they are called.
    most = 0 if sale.has_room else max((item.quantity or 0 for item in items), default=0) * BUYERS_FOR_A_UNIT
    passes, sign_ins = allowed(settings.PASS_LIMIT_BY_NETWORK), allowed(settings.SIGN_IN_LIMIT_BY_ADDRESS)
    can = _("%(sign_ins)s can sign in") if sale.has_room else _("%(sign_ins)s can sign in and %(passes)s get a pass")
    values = {
        "buyers": f"{buyers:,}",
        "can": filled(can, sign_ins=f"{sign_ins:,}", passes=f"{passes:,}"),
        "proxies": settings.TRUSTED_PROXIES,
        "share": f"{buyers // SHARE_OF_ONE_ADDRESS:,}",
    }
    if not settings.TRUSTED_PROXIES and (most > passes or buyers > sign_ins):
        yield warning(
            _(
                "TRUSTED_PROXIES is 0. If a proxy is in front, all of about %(buyers)s buyers count as one address, of "
                "which %(can)s in the ten minutes before the opening."
            ),
            _("Set TRUSTED_PROXIES to the number of proxies that append to X-Forwarded-For, unless there is none."),
            **values,
        )
    elif most // SHARE_OF_ONE_ADDRESS > passes or buyers // SHARE_OF_ONE_ADDRESS > sign_ins:
        yield warning(
            _(
                "About %(buyers)s buyers are expected. A hundredth of them, %(share)s, may share one address, such as "
                "that of a mobile network, of which %(can)s in the ten minutes before the opening."
            ),
            _("Raise SIGN_IN_LIMIT_BY_ADDRESS and PASS_LIMIT_BY_NETWORK for this sale (docs/settings.md)."),
            **values,
        )
    else:
        yield good(
            _(
                "The limits have room: of the buyers of one address, %(can)s in the ten minutes before the opening; "
                "about %(buyers)s are expected. Trusted proxies: %(proxies)s."
            ),
            **values,
        )


def allowed(rate: str) -> int:
    """How much the rate allows while buyers prepare."""
    item = rate_of(rate)
    return item.amount * max(PREPARING_SECONDS // item.get_expiry(), 1)


def client_chooses_address() -> bool:
    """Whether the shop at SHOP_URL counts a search by the address that its client has made up.

    The address is one of those that no network has (RFC 3849). False where the shop does not answer.
    """
    made_up = f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"
    try:
        # Another search each time: what memory answers is not counted.
        fetch(f"{reverse('api-products')}?search={secrets.token_hex(8)}", **{"X-Forwarded-For": made_up})
    except NotAnswered as error:
        if error.status is None:
            return False
    return count_of(action="search", rate=settings.SEARCH_LIMIT, key=network_of(made_up)) > 0
