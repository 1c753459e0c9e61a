"""Deletes files that belong to no picture: of rows deleted in bulk, of uploads that were rolled back, after a crash."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import PurePosixPath

import structlog
from django.core.files.storage import default_storage
from django.utils import timezone

from shop.models import Picture

log = structlog.get_logger(__name__)

# A younger file may be of a transaction that is not committed yet.
AGE_MIN = timedelta(hours=1)
FOLDER = "products"
RENDITIONS_FOLDER = f"renditions/{FOLDER}"


def sweep_files() -> int:
    """Returns how many were deleted."""
    deleted = 0
    names = {name_of(path): path for path in files_in(FOLDER)}
    renditions = list(files_in(RENDITIONS_FOLDER))
    # After the folders were read: files uploaded since are not in the lists.
    kept = {name_of(image) for image in Picture.objects.values_list("image", flat=True)}
    for path in names.values():
        deleted += name_of(path) not in kept and delete_if_old(path)
    for path in renditions:
        deleted += PurePosixPath(path).parent.name not in kept and delete_if_old(path)
    return deleted


def name_of(path: str) -> str:
    """The name that is given once; imagekit keeps renditions in a folder of that name."""
    return PurePosixPath(path).stem


def files_in(folder: str) -> Iterator[str]:
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    yield from (f"{folder}/{file}" for file in files)
    for inner in folders:
        yield from files_in(f"{folder}/{inner}")


def delete_if_old(path: str) -> bool:
    """One file that cannot be deleted stops no other."""
    try:
        if default_storage.get_modified_time(path) > timezone.now() - AGE_MIN:
            return False
        default_storage.delete(path)
    except Exception:
        log.exception("picture_not_deleted", path=path)
        return False
    return True
