"""A lower floor does not name an upper one, also not by a string, except where Django or Celery asks for strings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = ("shop", "seckill", "orders", "web", "bench")
# Settings and addresses are named by strings: INSTALLED_APPS, `include`, classes of caches and middleware.
ASKED_FOR_STRINGS = re.compile(r"shop/(settings|urls)\.py|shop/configuration/.*")


def strings_in(source: str) -> Iterator[tuple[int, str]]:
    """The string constants that are no docstrings, with their lines."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def names_above(floor: str, source: str) -> list[tuple[int, str]]:
    """Modules of upper floors that the source names by strings.

    Celery asks for names of tasks, and a command line for `module:attribute`.
    """
    above = "|".join(FLOORS[FLOORS.index(floor) + 1 :])
    # Most files have no such string, and parsing takes long.
    if not re.search(rf"""["']({above})\.""", source):
        return []
    dotted = re.compile(rf"({above})(\.[a-z_]\w*)+")
    found = [(line, text) for line, text in strings_in(source) if dotted.fullmatch(text)]
    # `orders.view_order` is a permission, not a module.
    return [
        (line, text)
        for line, text in found
        if ".tasks." not in text and (ROOT / text.split(".")[0]).is_dir() and exists(text)
    ]


def exists(dotted: str) -> bool:
    """Whether a module of this name, or of its beginning below the app, is there."""
    parts = dotted.split(".")
    return any(
        (ROOT.joinpath(*parts[:length]).with_suffix(".py")).is_file() or ROOT.joinpath(*parts[:length]).is_dir()
        for length in range(2, len(parts) + 1)
    )


def test_no_module_names_an_upper_floor_by_a_string() -> None:
    assert names_above("shop", 'find = "orders.life.intake.drain_once"') == [(1, "orders.life.intake.drain_once")]
    found = {
        f"{path.relative_to(ROOT)}:{line}": text
        for floor in FLOORS[:-1]
        for path in (ROOT / floor).rglob("*.py")
        if "migrations" not in path.parts and not ASKED_FOR_STRINGS.fullmatch(path.relative_to(ROOT).as_posix())
        for line, text in names_above(floor, path.read_text())
    }
    assert not found


def test_nothing_is_imported_by_a_string() -> None:
    apps = [path for floor in FLOORS for path in (ROOT / floor).rglob("*.py")]
    assert not [str(path) for path in apps if re.search(r"\bimport_(string|module)\b", path.read_text())]
