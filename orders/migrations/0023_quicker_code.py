"""The order number as one expression, which PostgreSQL writes into the statement that inserts an order.

The function of before had a query in it, which was started for each order.
"""

from django.db import migrations

# Eight characters, each out of 32 and of six random bits: two of the 64 signs of base64 become the same one. Only the
# first six bytes of such a UUID are all random.
EXPRESSION = """
CREATE OR REPLACE FUNCTION orders_new_code() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT translate(
        left(encode(uuid_send(gen_random_uuid()), 'base64'), 8),
        'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
        'ABCDEFGHJKLMNPQRSTUVWXYZ23456789ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
    )
$$
"""

QUERY = """
CREATE OR REPLACE FUNCTION orders_new_code() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT string_agg(
        substr('ABCDEFGHJKLMNPQRSTUVWXYZ23456789', (get_byte(random.bytes, place) & 31) + 1, 1), ''
    )
    FROM (SELECT uuid_send(gen_random_uuid()) AS bytes) AS random,
         unnest(ARRAY[0, 1, 2, 3, 4, 5, 10, 11]) AS place
$$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0022_refund_without_payment'),
    ]

    operations = [migrations.RunSQL(EXPRESSION, QUERY)]
