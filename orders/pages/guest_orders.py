"""The pages of a guest's order, at its signed link, and the page that sends such a link again."""

from collections.abc import Callable
from functools import wraps

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from orders.guest_links import number_from
from orders.invoices import pages as invoice_pages
from orders.mails import sending
from orders.models import Mail, Order
from orders.pages import delivery_page, my_orders
from shop.http.client_address import client_network
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached, take

# Eight letters and digits, with room for spaces and dashes.
CODE_TEXT_MAX = 20

READ_OR_SEND = require_http_methods(["GET", "HEAD", "POST"])


def guests_own(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Find the order of a signed link. The address is a key: caches do not keep it, and other sites do not see it."""

    @never_cache
    @wraps(view)
    def shown(request: HttpRequest, signed: str, **more: int) -> HttpResponse:
        number = number_from(signed)
        if number is None:
            raise Http404
        order = get_object_or_404(my_orders.with_all_shown(Order.objects.filter(buyer=None)), number=number)
        response = view(request, order, **more)
        # Django compares the referrer of forms over TLS, so it is not left out altogether.
        response["Referrer-Policy"] = "same-origin"
        response["X-Robots-Tag"] = "noindex, nofollow"
        return response

    return shown


order = require_safe(guests_own(my_orders.show_order))
pay = READ_OR_SEND(guests_own(my_orders.start_payment))
cancel = READ_OR_SEND(guests_own(my_orders.confirm_cancel))
address = READ_OR_SEND(guests_own(delivery_page.ask_address))
invoice = require_safe(guests_own(invoice_pages.show_invoice))
invoice_file = require_safe(guests_own(invoice_pages.send_file))


class FindForm(forms.Form):
    code = forms.CharField(label=gettext_lazy("Order number"), max_length=CODE_TEXT_MAX)
    email = forms.EmailField(label=gettext_lazy("E-mail address"), max_length=254)

    def clean_code(self) -> str:
        """The code as the shop writes it. People type small letters and gaps."""
        return "".join(letter for letter in self.cleaned_data["code"].upper() if letter.isalnum())


@never_cache
@READ_OR_SEND
def find(request: HttpRequest) -> HttpResponse:
    """Send the link to a guest's order by mail. The answer is the same whether there is such an order or not."""
    form = FindForm(request.POST or None)
    if not form.is_valid():
        return render(request, "orders/find.html", {"form": form, "sent": False})
    code, email = form.cleaned_data["code"], form.cleaned_data["email"]
    try:
        take(action="find_order_by_address", rate=settings.FIND_ORDER_LIMIT, key=client_network(request))
        take(action="find_order", rate=settings.FIND_ORDER_LIMIT, key=code)
    except LimitReached as error:
        return limit_reached(request, error)
    found = Order.objects.filter(buyer=None, code=code, email__iexact=email).first()
    if found is not None:
        sending.enqueue_again(order=found, kind=Mail.Kind.LINK)
    return render(request, "orders/find.html", {"form": form, "sent": True})
