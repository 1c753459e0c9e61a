"""One row per unit; SELECT … FOR UPDATE SKIP LOCKED LIMIT n takes n free rows; DELETE them; INSERT the order; COMMIT.

Database queues work this way (solid_queue, pgmq): buyers do not wait for each other, each takes rows of its own. The
cost is one row per unit, and scans that pass over the dead rows of sold units. If buyers ask for several units, one
who finds too few free rows is refused, although a buyer who has the others locked may still give them back.
"""

from bench.strategies.base.strategy import Answer
from bench.strategies.database.database_stock import DatabaseStock


class PgSkipLocked(DatabaseStock):
    id = "pg_skip_locked"
    expected = "correct; no queue on one row, but as many rows as units"
    correct = True
    # A buyer of three who finds two rows keeps both locked until it gives up, and a buyer of one skips them.
    sells_several_units = False

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
