"""The English and the Chinese README say the same: sections, commands, links, and words and figures that are code.

CONTRIBUTING.md names the packages of .ci/run.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
# The steps of a purchase are links into the code; the Chinese page refers to the English table.
ONLY_IN_ENGLISH = {"Follow one purchase"}


class Section(NamedTuple):
    level: int
    title: str
    text: str


def sections_of(readme: str) -> list[Section]:
    text = (ROOT / readme).read_text()
    # A comment in a block of commands is no heading.
    masked = re.sub(r"```.*?```", lambda block: re.sub(r"(?m)^#", " ", block[0]), text, flags=re.S)
    found = list(re.finditer(r"(?m)^(#+) (.+)$", masked))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [Section(len(m[1]), m[2], text[m.end() : end]) for m, end in zip(found, ends, strict=True)]


ENGLISH, CHINESE = sections_of("README.md"), sections_of("README.zh-hans.md")
PAIRS = [
    (english, chinese)
    for english, chinese in zip(ENGLISH, CHINESE, strict=False)
    if english.title not in ONLY_IN_ENGLISH
]


def commands_in(section: Section) -> list[str]:
    return re.findall(r"```.*?```", section.text, flags=re.S)


def links_in(section: Section) -> list[str]:
    links = re.findall(r"\]\(([^)]+)\)", section.text)
    return sorted(link for link in links if not link.startswith("README"))


def in_chinese(link: str) -> str:
    """The Chinese page, where there is one."""
    page = f"{link.removesuffix('.md')}.zh-hans.md"
    return page if (ROOT / page).exists() else link


def code_and_figures_in(section: Section) -> list[str]:
    """Words in code type, and numbers, outside of the commands."""
    text = re.sub(r"```.*?```", "", section.text, flags=re.S)
    text = re.sub(r"\]\([^)]+\)", "]", text)
    code = set(re.findall(r"`([^`]+)`", text))
    figures = set(re.findall(r"\d[\d,.]*\d|\d", re.sub(r"`[^`]+`", "", text)))
    return sorted(code | figures)


def test_both_have_the_same_sections() -> None:
    assert [section.level for section in ENGLISH] == [section.level for section in CHINESE]
    assert len(ENGLISH) > 8
    assert {section.title for section in ENGLISH} >= ONLY_IN_ENGLISH


@pytest.mark.parametrize(("english", "chinese"), PAIRS, ids=[english.title for english, _ in PAIRS])
def test_a_section_has_the_same_commands_links_and_figures(english: Section, chinese: Section) -> None:
    assert commands_in(chinese) == commands_in(english)
    assert links_in(chinese) == sorted(map(in_chinese, links_in(english)))
    assert code_and_figures_in(chinese) == code_and_figures_in(english)


def test_a_difference_is_found() -> None:
    section = Section(2, "Two", "Python 3.11, [settings](docs/settings.md)\n```\nmake run\n```\n`PORT=8001`")
    assert commands_in(section) == ["```\nmake run\n```"]
    assert links_in(section) == ["docs/settings.md"]
    assert code_and_figures_in(section) == ["3.11", "PORT=8001"]


def test_contributors_are_told_to_install_what_ci_installs() -> None:
    in_ci = re.findall(r"packages\+=\((.+?)\)", (ROOT / ".ci" / "run").read_text())
    (told,) = re.findall(r"^apt install ((?:.+\\\n)*.+)$", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.M)
    assert told.replace("\\", " ").split() == " ".join(in_ci).split()
