"""The pages of reminders: ask for one, confirm an address, stop all. They work without JavaScript."""

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from orders.checkout.serializers import EMAIL_LENGTH_MAX
from orders.reminders import subscribing
from orders.reminders.reminder_target import find_target, target_of
from shop.http.client_address import client_network
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached, take

READ_OR_SEND = require_http_methods(["GET", "HEAD", "POST"])


class AddressForm(forms.Form):
    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=EMAIL_LENGTH_MAX,
        help_text=_("We send one mail there to confirm. The address is deleted once the reminder is sent."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )


@never_cache
@READ_OR_SEND
def ask(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    """Buyers with a confirmed address press a button; others type an address, whose owner is asked."""
    target = find_target(kind, pk)
    if target is None:
        raise Http404
    if not target.is_open:
        return redirect(target.path)
    user_id: int | None = request.user.pk
    email = subscribing.confirmed_address(user_id) if user_id else ""
    form = None if email else AddressForm(request.POST or None, initial={"email": getattr(request.user, "email", "")})
    context = {"target": target, "email": email, "form": form}
    if request.method == "POST":
        try:
            take(action="reminder", rate=settings.REMINDER_LIMIT, key=client_network(request))
        except LimitReached as error:
            return limit_reached(request, error)
        language = get_language() or settings.LANGUAGE_CODE
        if user_id and "stop" in request.POST:
            subscribing.stop_one(kind=target.kind, pk=target.pk, user_id=user_id)
        elif user_id and email:
            if not subscribing.subscribe_account(target=target, user_id=user_id, email=email, language=language):
                context["refusal"] = subscribing.too_many_reminders_text()
        elif form is not None and form.is_valid():
            context["asked"] = form.cleaned_data["email"]
            subscribing.subscribe_guest(target=target, email=form.cleaned_data["email"], language=language)
    context["waits"] = user_id is not None and subscribing.of_user(target=target, user_id=user_id)
    return render(request, "orders/reminders/ask.html", context)


@never_cache
@READ_OR_SEND
def confirm(request: HttpRequest, signed: str) -> HttpResponse:
    """A button, since mail programs open links by themselves."""
    row = subscribing.confirm(signed) if request.method == "POST" else subscribing.find_signed(signed)
    done = row is not None and request.method == "POST"
    context = {"target": target_of(row) if row else None, "done": done}
    return render(request, "orders/reminders/confirm.html", context, status=200 if row else 404)


@csrf_exempt
@never_cache
@READ_OR_SEND
def stop(request: HttpRequest, signed: str) -> HttpResponse:
    """Mail programs send the POST themselves (RFC 8058), without a cookie: the signature says whose address it is."""
    marks = subscribing.marks_of_link(signed)
    if marks is None:
        raise Http404
    if request.method == "POST":
        subscribing.stop_all(marks=marks)
    return render(request, "orders/reminders/stop.html", {"done": request.method == "POST"})
