"""Payments: the provider interface, the providers, payment pages, the inbox of webhooks, refunds, late payments."""
