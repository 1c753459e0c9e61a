"""A table of addresses and cards that had their purchase. It is new, so nothing waits for a lock."""
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("orders", "0018_waiting_list"),
        ('seckill', '0008_guards'),
    ]

    operations = [
        migrations.AddField(
            model_name='paymentevent',
            name='card_mark',
            field=models.CharField(blank=True, db_default='', default='', max_length=32, verbose_name='mark of the card'),
        ),
        migrations.AlterField(
            model_name='order',
            name='attention',
            field=models.CharField(blank=True, choices=[('late_payment_kept', 'paid late, units were left'), ('late_payment_refunded', 'paid late, refunded'), ('amount_differs', 'wrong amount paid'), ('paid_twice', 'paid twice, second payment refunded'), ('one_each', 'address or card had its purchase already, refunded'), ('refund_fails', 'refund keeps failing'), ('payment_lost', 'paid, but the payment was lost'), ('refund_lost', 'refunded, but the refund was lost')], db_default='', default='', max_length=30, verbose_name='needs attention'),
        ),
        migrations.CreateModel(
            name='Served',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('address', 'delivery address'), ('card', 'payment card')], max_length=10, verbose_name='kind')),
                ('mark', models.CharField(max_length=32, verbose_name='mark')),
                ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='seckill.saleitem', verbose_name='sale item')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='served', to='orders.order', verbose_name='order')),
            ],
            options={
                'verbose_name': 'address or card that was served',
                'verbose_name_plural': 'addresses and cards that were served',
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('item', 'kind', 'mark'), name='orders_served_once')],
            },
        ),
    ]
