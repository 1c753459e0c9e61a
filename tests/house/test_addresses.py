"""Nothing is fetched from a third party: no script, style, font or picture, and no package without its hash."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PAGES = sorted(
    path
    for folder in ("templates", "shop/static", "seckill/static", "orders/static", "shop/templates")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".html", ".txt", ".js", ".css", ".svg", ".json"}
)
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))

# The names of XML vocabularies look like addresses but are never fetched.
VOCABULARIES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "http://www.w3.org/1999/xhtml")


def test_no_page_names_an_address_of_a_third_party() -> None:
    assert len(PAGES) > 10
    found = {path.relative_to(ROOT).as_posix(): foreign_addresses(path.read_text()) for path in PAGES}
    assert not {path: addresses for path, addresses in found.items() if addresses}


def foreign_addresses(text: str) -> list[str]:
    for vocabulary in VOCABULARIES:
        text = text.replace(f'"{vocabulary}"', "")
    whole = re.findall(r"(?i)\b(?:https?|wss?)://\S+", text)
    return whole + re.findall(r"""(?i)(?:src|href|action)\s*=\s*["']?//\S+|url\(\s*["']?//\S+""", text)


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.name)
def test_every_package_is_pinned_with_hashes_and_without_an_index(path: Path) -> None:
    text = path.read_text()
    assert "://" not in text
    code = re.sub(r"^\s*#.*$|\s#.*$", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    packages = [line.split() for line in code.splitlines() if line.strip() and not line.startswith("-r ")]
    # Stripe's library needs what the shop has.
    assert len(packages) > (0 if path.name == "stripe.txt" else 4)
    for package, *options in packages:
        assert re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[A-Za-z0-9.!+]+", package), package
        hashes = [option for option in options if re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", option)]
        assert hashes, f"{package} has no hash"
        rest = [option for option in options if option not in hashes and option.startswith("-")]
        assert not rest, f"{package} has the options {rest}"


def test_a_deployed_shop_gets_nothing_of_the_bench_and_no_package_is_listed_twice() -> None:
    included = {path.name: re.findall(r"^-r (.+)$", path.read_text(), re.MULTILINE) for path in REQUIREMENTS}
    assert included == {
        "run.txt": [],
        "stripe.txt": ["run.txt"],
        "tracing.txt": ["run.txt"],
        "bench.txt": ["run.txt"],
        "dev.txt": ["run.txt", "stripe.txt", "tracing.txt", "bench.txt"],
    }
    listed = {
        path.name: set(re.findall(r"^[a-zA-Z0-9].*?(?= \\$)", path.read_text(), re.MULTILINE)) for path in REQUIREMENTS
    }
    assert "aiohttp" in " ".join(listed["bench.txt"])
    for name, others in included.items():
        for other in others:
            assert not listed[name] & listed[other], f"{name} repeats {other}"
