"""The interface of payment providers, and what all of them share. Nothing here depends on one of them."""
