"""The entries of flash sales in the admin's sidebar."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from shop.staff.sidebar import entry

ENTRIES = [
    entry(_("Sales"), icon="bolt", page="seckill_sale_changelist", permission="seckill.view_sale"),
    entry(
        _("Live figures"),
        icon="monitoring",
        page="seckill_saleitem_changelist",
        permission="seckill.view_sale",
    ),
    entry(_("Changes of sales"), icon="history", page="seckill_salechange_changelist", permission="seckill.view_sale"),
    *(
        [
            entry(
                _("Replicas of a yes"),
                icon="database",
                page="seckill_replicachoice_changelist",
                permission="seckill.view_replicachoice",
            )
        ]
        if settings.SECKILL_YES_REPLICAS
        else []
    ),
]
