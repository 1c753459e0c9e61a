"""SELECT … FOR UPDATE locks the product's row; check; UPDATE; INSERT the order; COMMIT.

The textbook way, and correct: one buyer has the row until its transaction ends, however long that buyer is paused, and
the database unlocks the row of a client that was killed. But all buyers queue on this one row, also those who are
refused. The transactions run one after the other, each with four round trips and a flush to disk.
"""

from bench.strategies.base.strategy import Answer
from bench.strategies.database.database_stock import DatabaseStock


class PgRowLock(DatabaseStock):
    id = "pg_row_lock"
    expected = "correct; every buyer queues on one row"
    correct = True

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        with self.transaction() as connection:
            row = connection.execute(self.sql("SELECT stock FROM {stock} WHERE id = 1 FOR UPDATE")).fetchone()
            if row is None or row[0] < units:
                connection.rollback()
                return Answer.REFUSED
            connection.execute(self.sql("UPDATE {stock} SET stock = %s WHERE id = 1"), [row[0] - units])
            connection.execute(self.sql("INSERT INTO {orders} (buyer, units) VALUES (%s, %s)"), [buyer, units])
            connection.commit()
            return Answer.SOLD
