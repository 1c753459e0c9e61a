"""The entries of orders in the admin's sidebar."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from orders.staff import approval_admin, needs_attention
from shop.staff.sidebar import entry

ENTRIES = [
    entry(_("Orders"), icon="receipt_long", page="orders_order_changelist", permission="orders.view_order"),
    entry(_("To pack"), icon="package_2", page="orders_ordertopack_changelist", permission="orders.view_order"),
    entry(
        _("Needs attention"),
        icon="notification_important",
        page="orders_ordertolookat_changelist",
        permission="orders.view_order",
        badge=needs_attention.badge,
    ),
    entry(
        _("Invoices and credit notes"),
        icon="request_quote",
        page="orders_document_changelist",
        permission="orders.view_order",
    ),
    entry(
        _("Payment events"),
        icon="payments",
        page="orders_paymentevent_changelist",
        permission="orders.view_order",
    ),
    entry(
        _("Shipping methods"),
        icon="local_shipping",
        page="orders_shippingmethod_changelist",
        permission="orders.view_shippingmethod",
    ),
    *(
        [
            {
                **entry(
                    _("Approvals"),
                    icon="approval",
                    page="orders_approvalrequest_changelist",
                    permission="orders.view_order",
                    badge=approval_admin.badge,
                ),
                "permission": approval_admin.may_see_approvals,
            }
        ]
        if settings.APPROVALS
        else []
    ),
    entry(_("Mails"), icon="mail", page="orders_mail_changelist", permission="orders.view_order"),
]
