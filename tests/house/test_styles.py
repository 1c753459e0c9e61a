"""The look comes from the tokens: sizes of type and radii, in every style sheet. No style is written beside them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
APPS = ("shop", "seckill", "orders")
SHEETS = sorted(path for app in APPS for path in (ROOT / app / "static").rglob("*.css"))
# Programs that show mails know no custom properties and often no style sheets.
PAGES = sorted(path for path in (ROOT / "templates").rglob("*.html") if "mail" not in path.parent.parts)

DECLARATION = re.compile(r"(?<![\w-])(font|font-size|border(?:-\w+)*-radius)\s*:\s*([^;}]+)")
TOKEN = r"var\(--[\w-]+\)"
# A font as the page has it, no radius, and a circle need no token.
ALLOWED = {
    "font": re.compile(rf"inherit|{TOKEN}/[\d.]+ {TOKEN}"),
    "font-size": re.compile(rf"inherit|{TOKEN}"),
    "radius": re.compile(rf"50%|(?:0|{TOKEN})(?: (?:0|{TOKEN})){{0,3}}"),
}


def strange_declarations(sheet: str) -> list[str]:
    """The sizes of type and the radii that are written out."""
    rules = re.sub(r"/\*.*?\*/", "", sheet, flags=re.S)
    return [
        f"{name}: {value.strip()}"
        for name, value in DECLARATION.findall(rules)
        if not ALLOWED["radius" if name.endswith("radius") else name].fullmatch(value.strip())
    ]


def test_type_and_radius_come_from_the_tokens() -> None:
    assert len(SHEETS) > 5
    strange = {path.name: strange_declarations(path.read_text()) for path in SHEETS}
    assert {name: found for name, found in strange.items() if found} == {}
    for written in ("font-size: .9rem", "font: 11pt/1.5 system-ui", "border-radius: var(--radius) 4px"):
        assert strange_declarations(f"a {{ color: red; {written}; }}") == [written]


def test_no_page_has_a_style_of_its_own() -> None:
    assert len(PAGES) > 50
    assert not [path.name for path in PAGES if re.search(r"<style|\sstyle=", path.read_text())]
