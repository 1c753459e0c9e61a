from django.apps import AppConfig


class SimulatedPaymentsConfig(AppConfig):
    """An app of its own, because these tables belong to an outside company and not to the shop."""

    name = "orders.payments.simulated"
    label = "simulated_payments"
