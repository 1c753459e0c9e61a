"""UPDATE … SET stock = stock - n WHERE stock >= n decides and acts in one statement; INSERT the order; COMMIT.

What a shop without Redis should do: the condition is checked again by the database once the row is free, so nothing
read before can be stale. It is still one row, held from the UPDATE to the COMMIT and its disk flush: shorter than
`pg_row_lock` by one round trip and one decision in Python, and refused buyers hold nothing.
"""

from bench.strategies.base.strategy import Answer
from bench.strategies.database.database_stock import DatabaseStock


class PgConditional(DatabaseStock):
    id = "pg_conditional"
    expected = "correct; the same one row as pg_row_lock, held for a shorter time"
    correct = True

    def set_stock(self, units: int) -> None:
        self.make_tables()
        self.connection.execute(self.sql("INSERT INTO {stock} VALUES (1, %s)"), [units])
        self.connection.commit()

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
