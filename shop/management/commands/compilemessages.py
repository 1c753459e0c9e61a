"""Compiles the translations. It stands in for Django's command of this name, which needs gettext on the machine."""

from typing import Any

from django.core.management.base import BaseCommand

from shop.languages.translations import compile_translations


class Command(BaseCommand):
    help = "Compiles the translations into the form that web processes and workers read at their start."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        compile_translations()
