"""`make durability`: what each way of writing to disk costs, and how many confirmed reservations it loses."""
