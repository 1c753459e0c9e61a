"""SELECT … FOR UPDATE locks the product's row; check; UPDATE; INSERT the order; COMMIT.

How every textbook sells the last unit, and correct: the row is one buyer's until its transaction ends, however long
that one is paused, and the database frees the row of a client that died. Every buyer queues on that one row, so a
sale is as slow as one transaction after the other, each with four round trips and a disk flush; and every one of the
refused stood in the queue too.
"""

from bench.strategies.base.strategy import Answer
from bench.strategies.database.database_stock import DatabaseStock


class PgRowLock(DatabaseStock):
    id = "pg_row_lock"
    expected = "correct; every buyer queues on one row"
    correct = True

    def set_stock(self, units: int) -> None:
        self.make_tables()
        self.connection.execute(self.sql("INSERT INTO {stock} VALUES (1, %s)"), [units])
        self.connection.commit()

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
