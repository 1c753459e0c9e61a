"""docs/settings.md lists each variable that the shop reads from the environment, once."""

import ast
import re
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "settings.md").read_text()
APPS = ("shop", "seckill", "orders", "web")
# `make run` gets the environment as an argument. Elsewhere `environ` may be that of a WSGI request.
READS_AN_ARGUMENT = "shop/local"
NAME = re.compile(r"[A-Z][A-Z0-9_]+")
# Where programs are; the system sets it.
SEARCH_PATH = "PATH"


def listed(table: str) -> list[str]:
    """The variables in the first cells of the tables."""
    return [name for cell in re.findall(r"(?m)^\| ([^|]+) \|", table) for name in re.findall(r"`([A-Z0-9_]+)`", cell)]


def variables_read(source: str, *, environments: Set[str] = frozenset({"env", "os.environ"})) -> Iterator[str]:
    """The names that a module reads from the environment, where it writes them out."""
    # Most modules read none, and parsing takes long.
    if not any(re.search(rf"\b{environment}\b", source) for environment in environments):
        return
    for node in ast.walk(ast.parse(source)):
        for name in names_in(node, environments):
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and NAME.fullmatch(name.value):
                yield name.value


def names_in(node: ast.AST, environments: Set[str]) -> list[ast.expr]:
    """What `node` reads from one of the environments: by an index, by one of its methods, or by a function's."""
    if isinstance(node, ast.Subscript):
        return [node.slice] if isinstance(node.ctx, ast.Load) and dotted(node.value) in environments else []
    if not isinstance(node, ast.Call):
        return []
    if any(dotted(argument) in environments for argument in node.args):
        return node.args
    method = node.func if isinstance(node.func, ast.Attribute) and node.func.attr != "setdefault" else None
    return node.args[:1] if method and dotted(method.value) in environments else []


def dotted(node: ast.expr) -> str:
    """`env` or `os.environ`; empty for anything longer."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@cache
def sources() -> list[str]:
    return [path.read_text() for app in APPS for path in sorted((ROOT / app).rglob("*.py"))]


@cache
def read() -> Set[str]:
    return {name for source in sources() for name in variables_read(source)} - {SEARCH_PATH} | {
        name
        for path in sorted((ROOT / READS_AN_ARGUMENT).rglob("*.py"))
        for name in variables_read(path.read_text(), environments={"environ"})
    }


def test_every_variable_is_listed() -> None:
    assert read() - set(listed(TABLE)) == set()


def test_only_variables_that_are_read_are_listed() -> None:
    """Also those that a module reads by a constant or in a loop: the name is written somewhere."""
    written = {name for source in sources() for name in re.findall(r'"([A-Z0-9_]+)"', source)}
    assert set(listed(TABLE)) - written == set()


def test_each_is_listed_once() -> None:
    names = listed(TABLE)
    assert sorted(names) == sorted(set(names))


def test_enough_variables_are_found() -> None:
    assert len(read()) > 60


def test_each_way_to_read_is_found_and_a_variable_that_is_only_set_does_not_count() -> None:
    for source in (
        'env.str("PORT", default="")',
        'rate(env, "PORT", default="5/hour")',
        'os.environ["PORT"]',
        'os.environ.get("PORT")',
    ):
        assert list(variables_read(source)) == ["PORT"], source
    assert list(variables_read('os.environ["PORT"] = "8001"; os.environ.setdefault("PORT", "8001")')) == []
