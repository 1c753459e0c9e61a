"""UPDATE … SET stock = stock - n WHERE stock >= n checks and changes in one statement; INSERT the order; COMMIT.

What a shop without Redis should do: the database checks the condition again once the row is free, so it never acts on
a stale value. All buyers still use one row, locked from the UPDATE until the COMMIT has reached the disk. That is one
round trip less than `pg_row_lock`, and refused buyers lock nothing.
"""

from bench.strategies.base.strategy import Answer
from bench.strategies.database.database_stock import DatabaseStock


class PgConditional(DatabaseStock):
    id = "pg_conditional"
    expected = "correct; the same one row as pg_row_lock, locked for a shorter time"
    correct = True

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        with self.transaction() as connection:
            updated = connection.execute(
                self.sql("UPDATE {stock} SET stock = stock - %(units)s WHERE id = 1 AND stock >= %(units)s"),
                {"units": units},
            )
            if updated.rowcount == 0:
                connection.rollback()
                return Answer.REFUSED
            connection.execute(self.sql("INSERT INTO {orders} (buyer, units) VALUES (%s, %s)"), [buyer, units])
            connection.commit()
            return Answer.SOLD
