"""`make durability`: what each way of writing to disk costs, and how many answers it loses."""
