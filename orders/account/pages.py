"""The overview of an account, and the page of a person's data: a copy of it, and the end of the account."""

from typing import cast

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from orders.models import Order
from shop.accounts.address_book import addresses_of
from shop.buyer_language import language_of

# The newest; all of them are on their own page.
ORDERS_SHOWN = 3


@never_cache
@login_required
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    buyer_id, email = user.pk, user.email
    newest = Order.objects.filter(buyer_id=buyer_id).prefetch_related("lines__product")[:ORDERS_SHOWN]
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
    return render(request, "account/data.html")
