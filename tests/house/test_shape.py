"""The shape of the code: no hidden imports, no signals, files named for nouns, short modules and functions."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APPS = ("shop", "seckill", "orders", "bench")

MODULES = sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)
TESTS = sorted((ROOT / "tests").rglob("*.py"))

NAMES_WITHOUT_A_NOUN = {"utils", "util", "helpers", "helper", "services", "service", "common", "misc", "exceptions"}

# About 200 is usual; a longer file holds two nouns.
MODULE_LINES_MAX = 400
# About 40 is usual; a longer function has a step that should be a function of its own.
FUNCTION_LINES_MAX = 70

each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


def test_the_modules_are_found() -> None:
    assert {"seckill/ledger.py", "shop/settings.py", "orders/intake.py"} <= {name(path) for path in MODULES}


@pytest.mark.parametrize("path", MODULES + TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_named_for_the_noun_it_holds(path: Path) -> None:
    assert not NAMES_WITHOUT_A_NOUN & {*path.relative_to(ROOT).parts[:-1], path.stem}


@each_module
def test_no_import_hides_in_a_function(path: Path) -> None:
    assert not [
        f"line {node.lineno}"
        for function in functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


@each_module
def test_no_signals_and_no_generated_attributes(path: Path) -> None:
    assert not {"django.dispatch", "django.db.models.signals", "django.core.signals"} & set(imports(path))
    assert "__getattr__" not in [function.name for function in functions(path)]


@each_module
def test_modules_and_functions_are_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MODULE_LINES_MAX
    lengths = {function.name: (function.end_lineno or 0) - function.lineno + 1 for function in functions(path)}
    assert not {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, those in functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
