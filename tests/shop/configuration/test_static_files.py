"""`collectstatic` takes what pages ask for, compressed, and leaves out what no page does."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles.finders import get_finders
from django.core.files.storage import storages
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from shop.configuration.static_files import NOT_NEEDED, NeededStaticFiles
from shop.http.static_of_releases import HASHED


def static_files(ignored: list[str]) -> set[str]:
    return {name for finder in get_finders() for name, _storage in finder.list(ignored)}


@pytest.mark.django_db
def test_each_file_that_a_page_names_is_collected(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storages["staticfiles"], "hashed_files", {})
    collected = static_files(NeededStaticFiles.ignore_patterns)
    for path in ("/", "/api/docs/", "/accounts/login/", "/admin/"):
        client = Client() if "login" in path else admin_client
        named = set(re.findall(r'"/static/([^"?]+)', client.get(path).text))
        assert len(named) > 2, path
        assert named <= collected, path


def test_each_pattern_leaves_something_out() -> None:
    everything = static_files([])
    assert [pattern for pattern in NOT_NEEDED if not everything > static_files([pattern])] == []


def test_only_needed_files_are_collected_and_each_hashed_one_is_compressed(settings: Settings, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "site.css").write_text("body { color: black }\n" * 50 + "/*# sourceMappingURL=site.css.map */")
    (source / "site.css.map").write_text("{}")
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATICFILES_DIRS, settings.STATIC_ROOT = [source], tmp_path / "static"

    call_command("collectstatic", "--noinput", verbosity=0)

    found = {path.name for path in (tmp_path / "static").iterdir()}
    [hashed] = {name for name in found if HASHED.search(name)}
    assert found == {"site.css", hashed, f"{hashed}.gz", "staticfiles.json"}
