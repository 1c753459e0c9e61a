"""What the shop asks of a payment provider, whatever company it is. Nothing here knows one of them."""
