"""PostgreSQL's clock says when rows were made. Each default has a transaction of its own, so none waits for another
table's lock; workers of the previous release name the time themselves.
"""

from django.db import migrations, models
from django.db.models.functions import Now

COLUMNS = (
    ('document', 'made_at', 'made at'),
    ('linemail', 'created_at', 'created at'),
    ('mail', 'created_at', 'created at'),
    ('order', 'created_at', 'created at'),
    ('ordernote', 'made_at', 'made at'),
    ('payment', 'created_at', 'created at'),
    ('paymentevent', 'received_at', 'received at'),
    ('recordedpayment', 'recorded_at', 'recorded at'),
    ('refund', 'created_at', 'created at'),
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('orders', '0026_documents_by_date'),
    ]

    operations = [
        migrations.AlterField(
            model_name=model, name=name, field=models.DateTimeField(label, db_default=Now(), editable=False)
        )
        for model, name, label in COLUMNS
    ]
