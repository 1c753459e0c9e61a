"""The short number of an order, which PostgreSQL draws."""

from psycopg.errors import UniqueViolation

# Letters and digits that cannot be mistaken for each other: no I, O, 0 or 1. PostgreSQL draws them
# (orders_new_code, in the migrations): a million million codes, so that nobody finds another's order by trying.
CODE_LENGTH = 8


def drew_known_code(error: Exception) -> bool:
    """Whether PostgreSQL drew a short number that another order has. It draws another the next time."""
    cause = error.__cause__
    return isinstance(cause, UniqueViolation) and "_code_" in (cause.diag.constraint_name or "")
