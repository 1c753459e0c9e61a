from django.db import migrations


class Migration(migrations.Migration):
    """The simulated company's tables now belong to an app of its own, `simulated_payments`. Rows stay."""

    dependencies = [
        ("orders", "0005_plain_labels"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.AlterModelTable("SimulatedSession", "simulated_payments_simulatedsession"),
                migrations.AlterModelTable("SimulatedMessage", "simulated_payments_simulatedmessage"),
            ],
            state_operations=[
                migrations.DeleteModel("SimulatedMessage"),
                migrations.DeleteModel("SimulatedSession"),
            ],
        ),
    ]
