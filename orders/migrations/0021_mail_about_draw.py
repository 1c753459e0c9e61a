from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("orders", "0020_reminders"),
    ]

    operations = [
        migrations.AlterField(
            model_name='mail',
            name='kind',
            field=models.CharField(choices=[('placed', 'order received'), ('won', 'won in a draw'), ('paid', 'confirmation'), ('shipped', 'shipped'), ('tracking', 'tracking number'), ('expired', 'expiry'), ('refunded', 'refund'), ('link', "link to a guest's order"), ('from_line', 'units from the waiting list')], max_length=10, verbose_name='kind'),
        ),
    ]
