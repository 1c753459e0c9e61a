"""The page of API tokens: make one, see which there are, revoke one. The token itself is shown once."""

from typing import cast

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from shop.accounts.tokens import TOKENS_PER_USER_MAX, new_token
from shop.models import ApiToken


@never_cache
@login_required
@require_safe
def tokens(request: HttpRequest) -> HttpResponse:
    return render(request, "account/tokens.html", tokens_of(request))


@never_cache
@login_required
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def make(request: HttpRequest) -> HttpResponse:
    """Shown in this answer and never again: only its hash is stored."""
    if request.method != "POST":
        return redirect("tokens")
    _row, token = new_token(cast(User, request.user))
    return render(request, "account/tokens.html", {**tokens_of(request), "token": token})


@never_cache
@login_required
def revoke(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return redirect("tokens")
    deleted, _rows = ApiToken.objects.filter(user_id=request.user.pk, digest=request.POST.get("digest", "")).delete()
    if not deleted:
        raise Http404
    messages.success(request, _("The token is revoked."))
    return redirect("tokens")


def tokens_of(request: HttpRequest) -> dict[str, object]:
    rows = ApiToken.objects.filter(Q(expiry=None) | Q(expiry__gt=timezone.now()), user_id=request.user.pk)
    valid = [row for row in rows.select_related("user").order_by("-created") if row.has_current_password()]
    return {"tokens": valid, "tokens_max": TOKENS_PER_USER_MAX}
