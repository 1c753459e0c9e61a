"""The overview of an account, and the page of a person's data: a copy of it, and the end of the account."""

import json
from typing import cast

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from orders.account.deletion import NotNow, delete_account, open_orders
from orders.account.person_data import person_data
from orders.models import Order, with_lines
from shop.accounts.address_book import addresses_of
from shop.languages.buyer_language import language_of

# The newest; all of them are on their own page.
ORDERS_SHOWN = 3


@never_cache
@login_required
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    buyer_id, email = user.pk, user.email
    newest = Order.objects.filter(buyer_id=buyer_id).prefetch_related(with_lines())[:ORDERS_SHOWN]
    context = {
        "orders": newest,
        "address": addresses_of(buyer_id).first(),
        "confirmed": EmailAddress.objects.filter(user_id=buyer_id, email=email.lower(), verified=True).exists(),
        "languages": settings.LANGUAGES,
        "mail_language": language_of(user_id=buyer_id),
    }
    return render(request, "account/overview.html", context)


@never_cache
@login_required
@require_safe
def data(request: HttpRequest) -> HttpResponse:
    """Where the person gets a copy of their data, or ends the account."""
    return render(request, "account/data.html")


@never_cache
@login_required
@require_safe
@reauthentication_required  # type: ignore[untyped-decorator]
def export(request: HttpRequest) -> HttpResponse:
    """A JSON file with all that the shop keeps of the person."""
    copy = json.dumps(person_data(signed_in(request)), cls=DjangoJSONEncoder, indent=2, ensure_ascii=False)
    headers = {"Content-Disposition": 'attachment; filename="stampede-my-data.json"'}
    return HttpResponse(copy, content_type="application/json", headers=headers)


@never_cache
@login_required
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def delete(request: HttpRequest) -> HttpResponse:
    """Ask, then end the account. Open orders come first: the page says which."""
    user = signed_in(request)
    waiting = list(open_orders(user.pk).prefetch_related(with_lines()))
    if request.method == "POST" and not waiting and not user.is_staff:
        try:
            delete_account(user.pk)
        except NotNow as error:
            waiting = error.orders
        else:
            get_adapter().logout(request)
            return render(request, "account/deleted.html")
    return render(request, "account/delete.html", {"waiting": waiting})


def signed_in(request: HttpRequest) -> User:
    return cast(User, request.user)
