"""The page of a sale in the admin, with its pre-flight."""

from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from orders.preflight import page
from seckill.models import Sale
from seckill.staff.sale_admin import SaleAdmin


@admin.register(Sale)
class CheckedSaleAdmin(SaleAdmin):
    actions_detail = ["check_before_opening", *SaleAdmin.actions_detail]

    def get_urls(self) -> list[URLPattern]:
        look = self.admin_site.admin_view(self.look_view)
        return [
            path("<int:sale_id>/preflight/<uuid:run>/<int:number>/", look, name="seckill_sale_preflight_look"),
            *super().get_urls(),
        ]

    def look_view(self, request: HttpRequest, sale_id: int, run: UUID, number: int) -> HttpResponse:
        return page.look(self, request, sale_id=str(sale_id), run=run, number=number)

    @action(  # type: ignore[untyped-decorator]
        description=_("Check before opening"), permissions=["change"], url_path="preflight", icon="fact_check"
    )
    def check_before_opening(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return page.start(self, request, sale_id=object_id)
