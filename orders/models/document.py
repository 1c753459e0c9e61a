"""Invoices and what corrects them."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from orders.models.order import Order
from orders.models.refund import Refund


class Document(models.Model):
    """An invoice, or the note that corrects one. The row is frozen: PostgreSQL refuses any change but the number.

    An order gets one invoice, in the transaction that marks it as paid. Each refund that is done gets a credit note; if
    the payment company takes such a refund back, a debit note cancels the credit note. `number` runs without gaps for
    each kind; it is given in a transaction of its own (orders/invoices/numbering.py), with the date `issued_at`.

    `contents` are all that the document says, in the words of orders/invoices/contents.py: it does not depend on rows
    that change later.
    """

    class Kind(models.TextChoices):
        INVOICE = "invoice", _("invoice")
        CREDIT_NOTE = "credit_note", _("credit note")
        DEBIT_NOTE = "debit_note", _("debit note")

    kind = models.CharField(_("kind"), max_length=12, choices=Kind)
    number = models.PositiveBigIntegerField(_("number"), null=True, editable=False)
    order = models.ForeignKey(Order, models.PROTECT, related_name="documents", verbose_name=_("order"))
    refund = models.ForeignKey(
        Refund, models.PROTECT, related_name="documents", verbose_name=_("refund"), null=True, blank=True
    )
    total_minor = models.PositiveBigIntegerField(_("total in minor units"))
    currency = models.CharField(_("currency"), max_length=3)
    contents = models.JSONField(_("contents"))
    made_at = models.DateTimeField(pgettext_lazy("document", "made at"), db_default=Now(), editable=False)
    issued_at = models.DateTimeField(_("issued on"), null=True, editable=False)

    class Meta:
        verbose_name = _("invoice or credit note")
        verbose_name_plural = _("invoices and credit notes")
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "number"], name="orders_document_number_once"),
            models.UniqueConstraint(fields=["order"], name="orders_document_one_invoice", condition=Q(kind="invoice")),
            models.CheckConstraint(
                name="orders_document_issued_with_number",
                condition=Q(number=None, issued_at=None) | Q(number__isnull=False, issued_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["id"], name="orders_document_to_number", condition=Q(number=None)),
            # For the documents of a month, which those who do the accounts filter and export.
            models.Index(fields=["issued_at"], name="orders_document_issued"),
        ]

    def __str__(self) -> str:
        return self.shown_number or f"{self.get_kind_display()} · {self.order}"

    def get_absolute_url(self) -> str:
        """The buyer's page of the invoice, or of a note that corrects it."""
        path = self.order.invoice_path
        return path if self.kind == self.Kind.INVOICE else f"{path}{self.pk}/"

    @property
    def shown_number(self) -> str:
        """INV-000123, or nothing while the number is not given yet."""
        return "" if self.number is None else f"{PREFIXES[self.kind]}-{self.number:06d}"

    @property
    def pdf_path(self) -> str:
        return f"{self.get_absolute_url().removesuffix('/')}.pdf"


PREFIXES = {"invoice": "INV", "credit_note": "CRN", "debit_note": "DBN"}
