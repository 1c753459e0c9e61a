"""The e-mail address of a buyer. Replaces allauth's page, which would send a mail during the request."""

from typing import cast

from allauth.account.models import EmailAddress
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache


class AddressForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ("email",)
        labels = {"email": gettext_lazy("E-mail address")}
        help_texts = {
            "email": gettext_lazy(
                "We e-mail you when an order is paid, expires or is refunded. Leave empty for no mails."
            )
        }


@never_cache
@login_required
def address(request: HttpRequest) -> HttpResponse:
    """Show and change the address. allauth's copies are deleted, so that nobody can sign in with a former one."""
    user = User.objects.get(pk=cast(int, request.user.pk))
    form = AddressForm(request.POST or None, instance=user)
    next_url = request.POST.get("next") or request.GET.get("next") or ""
    if not url_has_allowed_host_and_scheme(next_url, allowed_hosts={request.get_host()}):
        next_url = ""
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            form.save()
            EmailAddress.objects.filter(user=user).delete()
        messages.success(
            request, _("Your e-mail address is saved.") if user.email else _("We will not e-mail you any more.")
        )
        return redirect(next_url or "orders")
    return render(request, "account/address.html", {"form": form, "next": next_url})
