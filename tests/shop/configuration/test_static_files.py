"""`collectstatic` takes what pages ask for, and leaves out what no page does."""

import re

import pytest
from django.contrib.staticfiles.finders import get_finders
from django.core.files.storage import storages
from django.test import Client

from shop.configuration.static_files import NOT_NEEDED, NeededStaticFiles


def static_files(ignored: list[str]) -> set[str]:
    return {name for finder in get_finders() for name, _storage in finder.list(ignored)}


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/api/docs/", "/accounts/login/", "/admin/"])
def test_each_file_that_a_page_names_is_collected(
    path: str, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storages["staticfiles"], "hashed_files", {})
    client = Client() if "login" in path else admin_client
    named = set(re.findall(r'"/static/([^"?]+)', client.get(path).text))
    assert len(named) > 2
    assert named <= static_files(NeededStaticFiles.ignore_patterns)


@pytest.mark.parametrize("pattern", NOT_NEEDED)
def test_each_pattern_leaves_something_out(pattern: str) -> None:
    assert static_files([]) > static_files([pattern])
