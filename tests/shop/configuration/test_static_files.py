"""What `collectstatic` leaves for the web servers."""

from pathlib import Path

from django.core.management import call_command
from pytest_django import Settings

from shop.http.static_of_releases import HASHED

SOURCES = {
    "site.css": "body { color: black }\n" * 50 + "/*# sourceMappingURL=site.css.map */",
    "site.css.map": "{}",
    "redoc/bundles/redoc.js": "of the other viewer",
}


def test_each_hashed_file_is_compressed_and_source_maps_and_the_other_viewer_are_left_out(
    settings: Settings, tmp_path: Path
) -> None:
    for name, text in SOURCES.items():
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / name).write_text(text)
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATICFILES_DIRS, settings.STATIC_ROOT = [tmp_path / "source"], tmp_path / "static"

    call_command("collectstatic", "--noinput", verbosity=0)

    found = {path.name for path in (tmp_path / "static").rglob("*.*")}
    [hashed] = {name for name in found if HASHED.search(name)}
    assert found == {"site.css", hashed, f"{hashed}.gz", "staticfiles.json"}
