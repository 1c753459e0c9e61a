"""Pictures that are uploaded: what is taken, what becomes of it, what is refused in words, and where its files go."""

import re
import struct
import zlib
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from imagekit import hashers
from imagekit.cachefiles.namers import source_name_as_path
from PIL import Image
from pytest_django import DjangoCaptureOnCommitCallbacks

from shop.models import Picture, Product, StockChange
from shop.models.catalogue import RENDITIONS
from shop.models.picture_field import FORMATS, PictureFormField
from shop.pictures import orphan_files
from shop.pictures.local_files import CACHE_CONTROL
from shop.staff.picture_upload import add_pictures
from tests.steps.product_page import saved_page
from tests.steps.staff import admin_page

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = str(tmp_path)
    return tmp_path


def image_bytes(format: str = "PNG", size: tuple[int, int] = (60, 40), **options: object) -> bytes:
    """The left half red, the right half blue."""
    picture = Image.new("RGB", size, "red")
    picture.paste("blue", (size[0] // 2, 0, size[0], size[1]))
    file = BytesIO()
    picture.save(file, format, **options)
    return file.getvalue()


def upload(product: Product, content: bytes) -> Picture:
    return Picture.objects.create(product=product, image=ContentFile(content, "holiday in Paris.jpg"))


def files_of(media: Path) -> set[str]:
    return {path.relative_to(media).as_posix() for path in media.rglob("*") if path.is_file()}


def clean(content: bytes, name: str = "picture.png") -> str:
    """What the form says; empty if it takes the file."""
    field = PictureFormField()
    try:
        field.clean(SimpleUploadedFile(name, content))
    except Exception as error:
        return " ".join(getattr(error, "messages", [repr(error)]))
    return ""


def test_a_photo_is_turned_upright_and_loses_its_metadata(product: Product) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held on its side
    exif.get_ifd(0x8825)[2] = (48.0, 51.0, 24.0)
    exif[0x010F] = "a camera"
    picture = upload(product, image_bytes("JPEG", (600, 400), exif=exif, quality=95))
    for name in picture.files:
        with default_storage.open(name) as file, Image.open(file) as saved:
            assert saved.format == "WEBP"
            assert not saved.getexif()
            assert not {"exif", "xmp", "icc_profile"} & set(saved.info)
    with default_storage.open(picture.image.name) as file, Image.open(file) as saved:
        assert saved.size == (400, 600)
        red, _green, blue = saved.convert("RGB").getpixel((200, 20))  # type: ignore[misc]
        assert red > 200 > 100 > blue
    assert "Paris" not in picture.image.name


def test_each_size_is_made_when_the_picture_is_saved(product: Product, media: Path) -> None:
    picture = upload(product, image_bytes(size=(2200, 1100)))
    assert files_of(media) == set(picture.files)
    sizes = []
    for name in picture.files:
        with default_storage.open(name) as file, Image.open(file) as saved:
            sizes.append(saved.size)
    assert sizes == [(2000, 1000), (1200, 600), (640, 640), (200, 200)]


def test_a_rendition_has_the_name_that_imagekit_gives_and_a_process_works_it_out_once(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the files of an older release are found."""
    first, second = upload(product, image_bytes()), upload(product, image_bytes())
    renditions = [getattr(picture, size) for picture in (first, second) for size in RENDITIONS]
    names = [rendition.name for rendition in renditions]
    assert names == [source_name_as_path(rendition.generator) for rendition in renditions]
    assert len(set(names)) == 6
    monkeypatch.setattr(hashers, "pickle", pytest.fail)
    assert [name for picture in Picture.objects.order_by("pk") for name in picture.files[1:]] == names


def test_the_usual_formats_are_taken(product: Product) -> None:
    for format in FORMATS:
        assert clean(image_bytes(format)) == "", format
        assert upload(product, image_bytes(format)).image.name.endswith(".webp"), format
    # And twenty times as wide as it is high.
    assert clean(image_bytes(size=(400, 20))) == ""
    assert upload(product, image_bytes(size=(400, 20))).small.name


def test_a_picture_in_grey_with_sixteen_bits_keeps_its_shades(product: Product) -> None:
    three, file = Image.frombytes("I;16", (3, 1), struct.pack("<3H", 0, 30_000, 65_535)), BytesIO()
    three.resize((300, 100), Image.Resampling.NEAREST).save(file, "PNG")
    assert clean(file.getvalue()) == ""
    with default_storage.open(upload(product, file.getvalue()).image.name) as saved, Image.open(saved) as picture:
        shades = [picture.convert("L").getpixel((x, 50)) for x in (50, 150, 250)]
    assert shades == pytest.approx([0, 117, 255], abs=3)


def bomb(width: int, height: int) -> bytes:
    """A PNG of some kilobytes that says that it has so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1_000_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def test_a_picture_stays_transparent(product: Product) -> None:
    half = Image.new("RGBA", (60, 40))
    half.paste("red", (30, 0, 60, 40))
    for picture in (half, half.convert("LA"), half.quantize(8)):
        file = BytesIO()
        picture.save(file, "PNG")
        with default_storage.open(upload(product, file.getvalue()).large.name) as saved, Image.open(saved) as shown:
            alpha = shown.convert("RGBA").getchannel("A")
        assert (alpha.getpixel((5, 5)), alpha.getpixel((55, 35))) == (0, 255), picture.mode


def test_a_file_that_is_no_picture_or_too_large_is_refused_in_words() -> None:
    for name, content, words in (
        ("svg", SVG, "no picture"),
        ("empty", b"", "no picture"),
        ("torn gif", b"GIF89a", "no picture"),
        ("eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no picture"),
        ("bmp", image_bytes("BMP"), "no picture"),
        ("tiff", image_bytes("TIFF"), "no picture"),
        ("torn jpeg", image_bytes("JPEG", (800, 800))[:2_000], "no picture"),
        ("torn png", image_bytes("PNG", (800, 800))[:-200], "no picture"),
        ("bytes", b"\0" * (settings.PICTURE_BYTES_MAX + 1), "at most"),
        # It would take 14 GB.
        ("bomb", bomb(60_000, 60_000), "megapixels"),
        ("large", bomb(8_000, 7_000), "50 megapixels"),
        # It would fill a square only after it was made 640,000 pixels long.
        ("thin", image_bytes("PNG", (2_000, 2)), "20 times as wide"),
        ("one pixel high", image_bytes("PNG", (40_000, 1)), "20 times as wide"),
        ("one pixel wide", image_bytes("PNG", (1, 21)), "20 times as wide"),
    ):
        assert words in clean(content), name


def kept_in(answer: Any) -> list[str]:
    return re.findall(r'name="kept_pictures" value="([^"]+)"', answer.content.decode())


def test_a_form_with_an_error_keeps_the_good_pictures(as_manager: Client, product: Product, media: Path) -> None:
    form = saved_page(product)
    files = [
        SimpleUploadedFile("good.png", image_bytes(), "image/png"),
        SimpleUploadedFile("a.svg", SVG, "image/svg+xml"),
    ]
    refused = as_manager.post(admin_page(product), form | {"new_pictures": files})
    [error] = refused.context["adminform"].form.errors["new_pictures"]
    assert error.startswith("a.svg: This is no picture")
    tokens = kept_in(refused)
    assert len(tokens) == 1
    assert 'alt="good.png"' in refused.content.decode()
    assert not product.pictures.exists()
    # An error of another field keeps it again.
    again = as_manager.post(admin_page(product), form | {"slug": "not a slug", "kept_pictures": tokens})
    tokens = kept_in(again)
    assert len(tokens) == 1
    saved = form | {"kept_pictures": tokens}
    assert as_manager.post(admin_page(product), saved).status_code == 302
    [picture] = product.pictures.all()
    assert set(picture.files) == files_of(media)
    # Sent twice, also at the same moment, it is one picture.
    as_manager.post(admin_page(product), saved)
    assert product.pictures.count() == 1
    assert add_pictures(product, [Picture(image=picture.image.name)]) == []
    # A picture that is kept no longer is asked for again.
    answer = as_manager.post(admin_page(product), form | {"kept_pictures": ["forged"]})
    assert "This picture is no longer kept. Please choose it again." in answer.content.decode()
    assert product.pictures.count() == 1


def test_files_go_after_the_commit(
    product: Product, media: Path, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    picture, other = upload(product, image_bytes()), upload(product, image_bytes())
    with django_capture_on_commit_callbacks() as callbacks:
        picture.delete()
        assert len(files_of(media)) == 8
    for callback in callbacks:
        callback()
    assert files_of(media) == set(other.files)
    with django_capture_on_commit_callbacks(execute=True):
        other.image.save("new.jpg", ContentFile(image_bytes("JPEG")))
    assert files_of(media) == set(other.files)
    StockChange.objects.all().delete()
    with django_capture_on_commit_callbacks(execute=True):
        product.delete()
    assert not files_of(media)


def test_files_of_no_row_are_swept(product: Product, media: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, lost = upload(product, image_bytes()), upload(product, image_bytes())
    Picture.objects.filter(pk=lost.pk).delete()
    # Not yet: they may be of a transaction that is about to commit.
    assert orphan_files.sweep_files() == 0
    monkeypatch.setattr(orphan_files, "AGE_MIN", timedelta(0))
    assert orphan_files.sweep_files() == 4
    assert files_of(media) == set(kept.files)


def test_the_shop_serves_its_pictures_and_nothing_else(client: Client, product: Product, media: Path) -> None:
    picture = upload(product, image_bytes())
    answer = client.get(picture.medium.url)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "image/webp"
    assert answer["Cache-Control"] == CACHE_CONTROL
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert not answer.cookies
    assert answer.content == Path(media / picture.medium.name).read_bytes()
    (media / "secret.txt").write_text("secret")
    (media / "products" / "secret.webp").write_text("secret")
    hidden = ("secret.txt", "products/secret.webp", "../settings.py", "products/../secret.txt", "products/", "", "%00")
    for name in hidden:
        assert client.get(f"/media/{name}").status_code == 404, name
    assert client.post(picture.medium.url).status_code == 405
