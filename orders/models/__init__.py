from orders.models.alert import Alert, AlertKind, AlertMessage
from orders.models.approval import ApprovalRequest, waiting_requests
from orders.models.cart import Cart, CartLine
from orders.models.document import Document
from orders.models.idempotency import IdempotentCall
from orders.models.kept_report import KeptReport
from orders.models.mail import LineMail, Mail
from orders.models.order import (
    ATTENTION_TO_DO,
    ENDED_UNPAID,
    LIVE,
    REFUNDS,
    SOLD,
    Attention,
    Order,
    OrderStatus,
    ShippingAddress,
)
from orders.models.order_line import OrderLine
from orders.models.order_note import OrderNote
from orders.models.payment import Payment, PaymentEvent, RecordedPayment
from orders.models.refund import BY_HAND, USED_UP, Refund, RefundLine, with_lines, with_refunded_units
from orders.models.refused_receipt import RefusedReceipt
from orders.models.rehearsal import Rehearsal
from orders.models.reminder import Reminder
from orders.models.served import Served
from orders.models.shipping import ShippingMethod, ShippingPrice
from orders.models.store_repair import StoreRepair

__all__ = [
    "ATTENTION_TO_DO",
    "BY_HAND",
    "ENDED_UNPAID",
    "LIVE",
    "REFUNDS",
    "SOLD",
    "USED_UP",
    "Alert",
    "AlertKind",
    "AlertMessage",
    "ApprovalRequest",
    "Attention",
    "Cart",
    "CartLine",
    "Document",
    "IdempotentCall",
    "KeptReport",
    "LineMail",
    "Mail",
    "Order",
    "OrderLine",
    "OrderNote",
    "OrderStatus",
    "Payment",
    "PaymentEvent",
    "RecordedPayment",
    "Refund",
    "RefundLine",
    "RefusedReceipt",
    "Rehearsal",
    "Reminder",
    "Served",
    "ShippingAddress",
    "ShippingMethod",
    "ShippingPrice",
    "StoreRepair",
    "waiting_requests",
    "with_lines",
    "with_refunded_units",
]
