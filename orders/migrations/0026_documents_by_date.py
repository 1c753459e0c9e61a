"""An index of the documents of a month. It is built while documents are written."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('orders', '0025_resolved_reasons'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='document',
            index=models.Index(fields=['issued_at'], name='orders_document_issued'),
        ),
    ]
