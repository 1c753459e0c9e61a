"""A person's own pages beside allauth's: the address book, API tokens, and the end of one session."""

from typing import cast
from uuid import UUID

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.usersessions.internal.flows.sessions import end_sessions
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from shop.accounts.address_book import (
    ADDRESSES_MAX,
    AddressBookFull,
    addresses_of,
    book_full_text,
    delete_address,
    save_address,
)
from shop.accounts.address_form import AddressForm
from shop.accounts.tokens import TOKENS_PER_USER_MAX, new_token
from shop.addresses.address_checks import ADDRESS_FIELDS
from shop.models import Address, ApiToken


class SavedAddressForm(AddressForm):
    class Meta(AddressForm.Meta):
        fields = (*ADDRESS_FIELDS, "is_default")
        labels = AddressForm.Meta.labels | {"is_default": gettext_lazy("Use this address by default")}


@never_cache
@login_required
@require_safe
def addresses(request: HttpRequest) -> HttpResponse:
    shown = list(addresses_of(person_id(request)))
    return render(request, "account/addresses.html", {"addresses": shown, "may_add": len(shown) < ADDRESSES_MAX})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def address(request: HttpRequest, address_id: UUID | None = None) -> HttpResponse:
    """Add an address, or change the one with this id."""
    edited = Address(user_id=person_id(request))
    if address_id is not None:
        edited = get_object_or_404(addresses_of(person_id(request)), pk=address_id)
    refreshed = "refresh" in request.POST
    form = SavedAddressForm(
        None if refreshed else request.POST or None, instance=edited, initial=request.POST.dict() if refreshed else None
    )
    if request.method == "POST" and not refreshed and form.is_valid():
        try:
            save_address(form.instance)
        except AddressBookFull:
            messages.error(request, book_full_text())
            return redirect("addresses")
        messages.success(request, _("The address is saved."))
        return redirect("addresses")
    context = {"form": form, "is_new": address_id is None, "refresh_url": request.path}
    return render(request, "account/address.html", context)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ask_to_delete_address(request: HttpRequest, address_id: UUID) -> HttpResponse:
    """Ask, then delete. Orders keep the address that they were sent to."""
    shown = get_object_or_404(addresses_of(person_id(request)), pk=address_id)
    if request.method != "POST":
        return render(request, "account/address_delete.html", {"address": shown})
    delete_address(user_id=person_id(request), address_id=address_id)
    messages.success(request, _("The address is deleted."))
    return redirect("addresses")


@never_cache
@login_required
@require_safe
def tokens(request: HttpRequest) -> HttpResponse:
    return render(request, "account/tokens.html", tokens_of(request))


@never_cache
@login_required
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def make_token(request: HttpRequest) -> HttpResponse:
    """The token is in this answer and never again: only its hash is stored."""
    if request.method != "POST":
        return redirect("tokens")
    _row, token = new_token(cast(User, request.user))
    return render(request, "account/tokens.html", {**tokens_of(request), "token": token})


@never_cache
@login_required
def revoke_token(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return redirect("tokens")
    digest = request.POST.get("digest", "")
    if not (digest.isalnum() and ApiToken.objects.filter(user_id=request.user.pk, digest=digest).delete()[0]):
        raise Http404
    messages.success(request, _("The token is revoked."))
    return redirect("tokens")


def tokens_of(request: HttpRequest) -> dict[str, object]:
    rows = ApiToken.objects.filter(Q(expiry=None) | Q(expiry__gt=timezone.now()), user_id=request.user.pk)
    valid = [row for row in rows.select_related("user").order_by("-created") if row.has_current_password()]
    return {"tokens": valid, "tokens_max": TOKENS_PER_USER_MAX}


@never_cache
@login_required
def end_session(request: HttpRequest, session_id: int) -> HttpResponse:
    """A browser with that session is signed out at its next click. The current session ends by signing out."""
    session = get_object_or_404(UserSession, pk=session_id, user_id=request.user.pk)
    if request.method != "POST":
        return redirect("usersessions_list")
    if session.is_current():
        get_adapter().logout(request)
        return redirect("home")
    end_sessions(request, [session])
    messages.success(request, _("That session has ended."))
    return redirect("usersessions_list")


def person_id(request: HttpRequest) -> int:
    """Of the person who is signed in."""
    return cast(int, request.user.pk)
