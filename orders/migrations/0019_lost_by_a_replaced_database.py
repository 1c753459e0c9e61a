from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0018_names_on_parcels'),
    ]

    operations = [
        migrations.AlterField(
            model_name='order',
            name='attention',
            field=models.CharField(blank=True, choices=[('late_payment_kept', 'paid late, units were left'), ('late_payment_refunded', 'paid late, refunded'), ('amount_differs', 'wrong amount paid'), ('paid_twice', 'paid twice, second payment refunded'), ('refund_fails', 'refund keeps failing'), ('payment_lost', 'paid, but the payment was lost'), ('refund_lost', 'refunded, but the refund was lost')], db_default='', default='', max_length=30, verbose_name='needs attention'),
        ),
    ]
