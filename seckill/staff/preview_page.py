"""A draft sale as buyers will see it, for staff. It is a page of the admin, so no page cache ever has it."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_safe

from seckill.items.archive import counters_outside_store
from seckill.live.offers import offer_from
from seckill.models import Sale, with_products
from seckill.pages import sale_context
from seckill.staff.permissions import may_see_sales


@require_safe
def preview_page(request: HttpRequest, sale_id: int, language: str) -> HttpResponse:
    """For `AdminSite.admin_view`, which lets no browser keep it."""
    if not may_see_sales(request):
        raise PermissionDenied
    if language not in dict(settings.LANGUAGES):
        raise Http404
    sale = get_object_or_404(Sale.objects.prefetch_related(with_products()), pk=sale_id)
    back = reverse("admin:seckill_sale_change", args=[sale.pk])
    if sale.is_published:
        messages.info(request, _("This sale is published: buyers see it on its own page."))
        return redirect(back)
    now = timezone.now()
    with override(language):
        # With the figures that the store would give, had the sale been published and nobody bought anything.
        offers = [offer_from(it, counters_outside_store(it, now=now), had=0, now=now) for it in sale.items.all()]
        context = {
            **sale_context(sale, offers, now=now, path=sale.get_absolute_url()),
            "buy_form": "seckill/_preview_buy.html",
            "back_url": back,
            "previews": previews_of(sale),
        }
        return HttpResponse(render_to_string("seckill/preview.html", context, request=request))


def previews_of(sale: Sale) -> list[tuple[str, str, str]]:
    """For each language its code, its own name, and the address of the preview."""
    return [
        (code, name, reverse("admin:seckill_sale_preview", args=[sale.pk, code])) for code, name in settings.LANGUAGES
    ]
