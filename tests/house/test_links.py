"""Relative links in the documents lead to files that exist, and to headings that exist."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/**/*.md"))]


def links_in(document: Path) -> list[str]:
    """The targets of its links and pictures, without those of other sites and those in code blocks."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [target for target in re.findall(r"\]\(([^()\s]+)\)", text) if "://" not in target]


@cache
def anchors_of(document: Path) -> set[str]:
    """The fragments of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_relative_links_lead_somewhere() -> None:
    assert "docs/design.md" in links_in(ROOT / "README.md")
    for document in DOCUMENTS:
        for link in links_in(document):
            path, _, fragment = link.partition("#")
            target = document.parent / path if path else document
            assert target.exists(), f"{document.name}: {link}"
            assert not fragment or fragment in anchors_of(target), f"{document.name}: {link}"
