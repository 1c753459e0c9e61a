"""The company tells cards apart."""
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('simulated_payments', '0002_simulatedsession_order_number'),
    ]

    operations = [
        migrations.AddField(
            model_name='simulatedsession',
            name='card',
            field=models.CharField(blank=True, db_default='', default='', max_length=40),
        ),
    ]
