"""Money from outside: the provider seam, the providers behind it, payment pages, the inbox of webhooks."""
