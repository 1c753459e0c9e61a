"""API tokens are in ApiToken. knox's own migrations still know its table, so it stays, empty.

Without its foreign key: users can be deleted, and tables emptied, without it. A migration of its own, since those of knox
depend on the first one of the shop.
"""

from django.db import migrations

RETIRE_KNOX_TABLE = """
DO $$
DECLARE foreign_key text;
BEGIN
    FOR foreign_key IN SELECT conname FROM pg_constraint WHERE conrelid = 'knox_authtoken'::regclass AND contype = 'f'
    LOOP
        EXECUTE format('ALTER TABLE knox_authtoken DROP CONSTRAINT %I', foreign_key);
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):

    replaces = [
        ('shop', '0003_api_tokens_end_with_the_password'),
    ]

    dependencies = [
        ('knox', '0009_extend_authtoken_field'),
        ('shop', '0001_squashed'),
    ]

    operations = [
        migrations.RunSQL(RETIRE_KNOX_TABLE, migrations.RunSQL.noop),
    ]
