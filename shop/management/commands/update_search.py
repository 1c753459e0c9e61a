"""Writes the search entry of every product. For rows that were changed without the shop, and new languages."""

from typing import Any

from django.core.management.base import BaseCommand

from shop.models import Product, SearchWord, write_entries


class Command(BaseCommand):
    help = "Write the search entries of all products again, for example after adding a language."

    def handle(self, *args: Any, **options: Any) -> None:
        # Also words of products that are gone.
        SearchWord.objects.all().delete()
        self.stdout.write(f"{write_entries(Product.objects.all())} products can be searched.")
