"""A process of one release serves the static files of the others, which a rolling release puts beside its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.core.signals import request_finished
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.test import RequestFactory
from pytest_django import Settings

from shop.http.static_of_releases import StaticOfReleases

OWN = "/static/shop/site.0123456789ab.css"
OF_ANOTHER = "/static/shop/site.ba9876543210.css"


@pytest.fixture
def ask(settings: Settings, tmp_path: Path) -> Iterator[Callable[[str], HttpResponseBase]]:
    """A process that was started when its own file alone was there."""
    settings.WHITENOISE_AUTOREFRESH = False
    settings.STATIC_ROOT = tmp_path / "own"
    settings.STATIC_OF_RELEASES = str(tmp_path / "releases")
    write(tmp_path / "own", OWN)
    (tmp_path / "releases").mkdir()
    process = StaticOfReleases(nothing_else)

    def answer(path: str) -> HttpResponseBase:
        response = process(RequestFactory().get(path))
        # What it serves is open until then.
        response.close()
        return response

    # As Django's test client does: a connection of the tests before must not be looked at.
    request_finished.disconnect(close_old_connections)
    yield answer
    request_finished.connect(close_old_connections)


def nothing_else(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=404)


def write(directory: Path, url: str) -> None:
    file = directory / url.removeprefix("/static/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("body {}")


@pytest.mark.parametrize("directory", ["own", "releases"])
def test_a_file_that_another_release_brought_later_is_served_for_good(
    ask: Callable[[str], HttpResponseBase], tmp_path: Path, directory: str
) -> None:
    assert ask(OWN).status_code == 200
    assert ask(OF_ANOTHER).status_code == 404
    write(tmp_path / directory, OF_ANOTHER)
    for _ in range(2):
        response = ask(OF_ANOTHER)
        assert response.status_code == 200
        assert "immutable" in response["Cache-Control"]
        assert response["Content-Type"].startswith("text/css")


def test_nothing_else_is_looked_for(ask: Callable[[str], HttpResponseBase], tmp_path: Path) -> None:
    write(tmp_path / "own", "/static/shop/site.css")
    (tmp_path / "secret.0123456789ab.css").write_text("secret")
    for path in (
        "/static/../secret.0123456789ab.css",
        "/static/%2e%2e/secret.0123456789ab.css",
        "/static/shop/site.css",
        "/static/shop/\0.0123456789ab.css",
        "/media/shop/site.ba9876543210.css",
    ):
        assert ask(path).status_code == 404, path


def test_a_release_brings_its_files_to_the_others(settings: Settings, tmp_path: Path) -> None:
    settings.STATIC_ROOT, settings.STATIC_OF_RELEASES = tmp_path / "own", str(tmp_path / "releases")
    for url in (OWN, f"{OWN}.gz", "/static/shop/site.css", "/static/staticfiles.json"):
        write(tmp_path / "own", url)
    write(tmp_path / "releases", OF_ANOTHER)
    call_command("share_static_files")
    found = {f"/static/{path.relative_to(tmp_path / 'releases')}" for path in (tmp_path / "releases").rglob("*.*")}
    assert found == {OWN, f"{OWN}.gz", OF_ANOTHER}


def test_without_a_directory_nothing_is_copied(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STATIC_ROOT, settings.STATIC_OF_RELEASES = tmp_path / "own", ""
    write(tmp_path / "own", OWN)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(CommandError, match="STATIC_OF_RELEASES"):
        call_command("share_static_files")
    assert not list(Path().iterdir())
