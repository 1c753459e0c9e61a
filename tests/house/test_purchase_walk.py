"""README's "Follow one purchase": ten files from the click to the mail, each one named in a file before it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
WALK = README[README.index("## Follow one purchase") : README.index("An ordinary purchase")]
FLASH_SALE, PAYMENT = (
    re.findall(r"(?m)^\| \d+ \| \[`[^`]+`\]\(([^)]+)\)", part) for part in WALK.split("Six more", maxsplit=1)
)


def names_of(path: str) -> list[str]:
    """What another file says when it calls this one: its module, or the file of a script."""
    parent, _slash, file = path.rpartition("/")
    stem = file.partition(".")[0]
    package = parent.replace("/", ".")
    return [f"{package}.{stem}", f"from {package} import {stem}", file if file.endswith(".lua") else path]


def says(path: str, name: str) -> bool:
    return re.search(rf"{re.escape(name)}\b", (ROOT / path).read_text()) is not None


def imports(path: str, module: str) -> bool:
    """Whether `from package import a, b` names the module."""
    package, _dot, stem = module.rpartition(".")
    text = (ROOT / path).read_text()
    return any(
        stem in re.findall(r"\w+", names) for names in re.findall(rf"from {re.escape(package)} import ([^\n]+)", text)
    )


def test_the_walk_is_as_long_as_promised() -> None:
    assert (len(FLASH_SALE), len(PAYMENT)) == (10, 6)


@pytest.mark.parametrize("walk", [FLASH_SALE, PAYMENT[2:]], ids=["flash sale", "payment"])
def test_each_file_is_a_click_from_one_before(walk: list[str]) -> None:
    for place, path in enumerate(walk[1:], 1):
        module = names_of(path)[0]
        before = walk[:place]
        assert any(imports(other, module) or any(says(other, name) for name in names_of(path)) for other in before), (
            f"none of {before} names {path}"
        )
