from django.apps import AppConfig


class SimulatedPaymentsConfig(AppConfig):
    """An app of its own: the tables of an outside company are none of the shop's."""

    name = "orders.payments.simulated"
    label = "simulated_payments"
