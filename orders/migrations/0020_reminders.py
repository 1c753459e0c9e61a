"""A table of the mails that people have asked for. It is new, so nothing waits for a lock."""
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("orders", "0019_one_for_each"),
        ('seckill', '0008_guards'),
        ('shop', '0007_district'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Reminder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('email', models.EmailField(max_length=254)),
                ('mailbox', models.CharField(max_length=16)),
                ('language', models.CharField(max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('next_attempt_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('item', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reminders', to='seckill.saleitem')),
                ('sale', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reminders', to='seckill.sale')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reminders', to=settings.AUTH_USER_MODEL)),
                ('variant', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reminders', to='shop.variant')),
            ],
            options={
                'verbose_name': 'reminder',
                'verbose_name_plural': 'reminders',
                'default_permissions': (),
                'indexes': [models.Index(condition=models.Q(('next_attempt_at__isnull', False)), fields=['next_attempt_at'], name='orders_reminder_due'), models.Index(fields=['created_at'], name='orders_reminder_age')],
                'constraints': [models.UniqueConstraint(fields=('mailbox', 'sale', 'item', 'variant'), name='orders_reminder_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(models.Q(('item', None), ('sale__isnull', False), ('variant', None)), models.Q(('item__isnull', False), ('sale', None), ('variant', None)), models.Q(('item', None), ('sale', None), ('variant__isnull', False)), _connector='OR'), name='orders_reminder_one_thing')],
            },
        ),
    ]
