"""One row a unit; SELECT … FOR UPDATE SKIP LOCKED LIMIT n takes n rows that nobody else takes; DELETE; INSERT; COMMIT.

The way of the database queues (solid_queue, pgmq): buyers do not wait for each other, each takes rows of its own. The
price is as many rows as units, and the dead rows of the sold ones to step over. With several units a buyer, one that
finds too few free rows is refused although another, who holds the rest, may yet fail and give them back.
"""

from bench.strategies.base.strategy import Answer
from bench.strategies.database.database_stock import DatabaseStock


class PgSkipLocked(DatabaseStock):
    id = "pg_skip_locked"
    expected = "correct; no queue on one row, but as many rows as units"
    correct = True
    # Who wants three rows and finds two locks both until it gives up, and a buyer of one skips them.
    sells_baskets = False

    def set_stock(self, units: int) -> None:
        self.make_tables()
        self.connection.execute(self.sql("INSERT INTO {stock} SELECT n, 1 FROM generate_series(1, %s) AS n"), [units])
        self.connection.commit()

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        with self.transaction() as connection:
            rows = connection.execute(
                self.sql("SELECT id FROM {stock} ORDER BY id FOR UPDATE SKIP LOCKED LIMIT %s"), [units]
            ).fetchall()
            if len(rows) < units:
                connection.rollback()
                return Answer.REFUSED
            connection.execute(self.sql("DELETE FROM {stock} WHERE id = ANY(%s)"), [[row[0] for row in rows]])
            connection.execute(self.sql("INSERT INTO {orders} (buyer, units) VALUES (%s, %s)"), [buyer, units])
            connection.commit()
            return Answer.SOLD
