from orders.models.cart import Cart, CartLine
from orders.models.document import Document
from orders.models.idempotency import IdempotentCall
from orders.models.kept_report import KeptReport
from orders.models.mail import Mail
from orders.models.order import (
    ATTENTION_TO_DO,
    LIVE,
    REFUNDS,
    SOLD,
    Attention,
    Order,
    OrderStatus,
    ShippingAddress,
)
from orders.models.order_line import OrderLine
from orders.models.payment import Payment, PaymentEvent, RecordedPayment
from orders.models.refund import BY_HAND, USED_UP, Refund, RefundLine, with_lines, with_refunded_units
from orders.models.rehearsal import Rehearsal
from orders.models.reminder import Reminder
from orders.models.served import Served
from orders.models.shipping import ShippingMethod, ShippingPrice
from orders.models.store_repair import StoreRepair

__all__ = [
    "ATTENTION_TO_DO",
    "BY_HAND",
    "LIVE",
    "REFUNDS",
    "SOLD",
    "USED_UP",
    "Attention",
    "Cart",
    "CartLine",
    "Document",
    "IdempotentCall",
    "KeptReport",
    "Mail",
    "Order",
    "OrderLine",
    "OrderStatus",
    "Payment",
    "PaymentEvent",
    "RecordedPayment",
    "Refund",
    "RefundLine",
    "Rehearsal",
    "Reminder",
    "Served",
    "ShippingAddress",
    "ShippingMethod",
    "ShippingPrice",
    "StoreRepair",
    "with_lines",
    "with_refunded_units",
]
