"""Adds the columns of languages that were added to SHOP_LANGUAGES, to the catalogue and to its history.

django-modeltranslation's own command leaves the history out, and a row whose history cannot be written cannot be saved.
"""

from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection, models, transaction
from modeltranslation.translator import translator


class Command(BaseCommand):
    help = "Adds the columns of the languages in SHOP_LANGUAGES that the database does not have yet."

    def handle(self, *args: Any, **options: Any) -> None:
        missing = columns_of_new_languages()
        with transaction.atomic(), connection.schema_editor() as editor:
            for table, column in missing:
                editor.add_field(table, column)
                self.stdout.write(f"{table._meta.db_table}.{column.column}")
        self.stdout.write(f"{len(missing)} columns added")


def columns_of_new_languages() -> "list[tuple[type[models.Model], models.Field[Any, Any]]]":
    """Each with its table."""
    return [
        (table, column)
        for model in translator.get_registered_models(abstract=False)
        for table in (model, *history_of(model))
        for column in missing_columns(table, of=model)
    ]


def history_of(model: Any) -> list[Any]:
    return [model.history.model] if hasattr(model, "history") else []


def missing_columns(table: type[models.Model], *, of: type[models.Model]) -> "list[models.Field[Any, Any]]":
    """The columns for texts in one language that the table lacks in the database."""
    with connection.cursor() as cursor:
        there = {column.name for column in connection.introspection.get_table_description(cursor, table._meta.db_table)}
    texts = {column.name for columns in translator.get_options_for_model(of).all_fields.values() for column in columns}
    return [column for column in table._meta.local_concrete_fields if column.name in texts - there]
