"""Entries of the history that are there get the words of today: the next save of a product would seem to add them.

Apart from the column, whose lock is not held while the rows are written.
"""

from django.db import migrations

FILL = """
UPDATE shop_historicalproduct AS entry SET search_words = product.search_words
FROM shop_product AS product WHERE product.id = entry.id AND product.search_words <> ''
"""


class Migration(migrations.Migration):

    dependencies = [
        ("shop", "0010_history_of_search_words"),
    ]

    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
