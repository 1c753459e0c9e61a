import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models

import shop.models.picture_field

class Migration(migrations.Migration):

    dependencies = [("shop", "0008_low_stock_and_history")]

    operations = [
        # A trusted extension: whoever may create things in this database may create it (docs/settings.md).
        TrigramExtension(),
        migrations.AlterField(
            model_name='picture',
            name='image',
            field=shop.models.picture_field.PictureField(
                upload_to=shop.models.picture_field.new_picture_name, verbose_name='picture'
            ),
        ),
        migrations.CreateModel(
            name='SearchEntry',
            fields=[
                ('product', models.OneToOneField(
                    on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='search_entry',
                    serialize=False, to='shop.product')),
                ('document', django.contrib.postgres.search.SearchVectorField()),
                ('title', django.contrib.postgres.search.SearchVectorField()),
                ('is_visible', models.BooleanField()),
            ],
            options={
                'indexes': [
                    django.contrib.postgres.indexes.GinIndex(
                        fastupdate=False, fields=['document'], name='shop_searchentry_document'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SearchWord',
            fields=[('word', models.CharField(max_length=60, primary_key=True, serialize=False))],
            options={
                'indexes': [
                    django.contrib.postgres.indexes.GinIndex(
                        fields=['word'], name='shop_searchword_trigrams', opclasses=['gin_trgm_ops']),
                ],
            },
        ),
        # The next migration completes the table and fills it.
    ]
