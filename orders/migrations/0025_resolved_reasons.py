"""The reasons that staff have resolved, and since when a refund fails. Columns that may be null and have no default: no
table is rewritten, and workers of the previous release still insert rows.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0024_payment_unreported'),
    ]

    operations = [
        migrations.AddField(
            model_name='order',
            name='resolved_reasons',
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='refund',
            name='failing_since',
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
