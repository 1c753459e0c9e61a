"""Copies the static files of a release to STATIC_OF_RELEASES, before its first page is served (deploy/kubernetes)."""

import shutil
import socket
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from shop.http.static_of_releases import HASHED


class Command(BaseCommand):
    help = "Copies what collectstatic made to STATIC_OF_RELEASES, for processes of other releases."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.STATIC_OF_RELEASES:
            raise CommandError("STATIC_OF_RELEASES names no directory.")
        source, target = Path(settings.STATIC_ROOT), Path(settings.STATIC_OF_RELEASES)
        # A file comes after its compressed forms, which are found together with it.
        paths = sorted(source.rglob("*"), reverse=True)
        for path in (path for path in paths if HASHED.search(path.name.removesuffix(".gz"))):
            copy = target / path.relative_to(source)
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                # Two pods may copy at once, and a third one may serve it.
                unfinished = copy.with_name(f"{copy.name}.{socket.gethostname()}.new")
                shutil.copyfile(path, unfinished)
                unfinished.replace(copy)
