"""The shape of the code: paths that are followed by clicking, nouns for file names, modules of a size to be read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APPS = ("shop", "seckill", "orders")

MODULES = sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# Who may speak to Redis, and why.
SPEAKS_TO_REDIS = {
    "seckill/ledger.py": "the Python face of the scripts",
    "seckill/scripts.py": "runs them",
    "seckill/outbox.py": "the stream",
    "seckill/durability.py": "knows a refusal of CONFIG GET; asks through the ledger's client",
    "orders/faults/raw_valkey.py": "the fault harness's own servers, which it breaks",
    "shop/health.py": "says PING",
    "shop/problems.py": "knows the faults of the session store, speaks to nobody",
    "shop/settings.py": "names the retry policy, speaks to nobody",
}

# The strategies and the lab speak to servers of their own, and the shop knows neither.
LAB = ("seckill/strategies/", "seckill/lab/")

NAMES_WITHOUT_A_NOUN = {"utils", "util", "helpers", "helper", "services", "service", "common", "misc", "exceptions"}

# About 200 is the habit; more than this is two nouns in one file.
MODULE_LINES_MAX = 400
# About 40 is the habit; a function of more than this has a step that wants a name.
FUNCTION_LINES_MAX = 70

each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


def test_the_modules_are_found() -> None:
    assert {"seckill/ledger.py", "shop/settings.py", "orders/intake.py"} <= {name(path) for path in MODULES}


def test_only_the_ledger_and_its_neighbours_speak_to_redis() -> None:
    speaking = {
        name(path) for path in MODULES if {"redis", "django_redis"} & {module.split(".")[0] for module in imports(path)}
    }
    assert {path for path in speaking if not path.startswith(LAB)} == set(SPEAKS_TO_REDIS)


def test_the_shop_does_not_know_the_lab_or_the_fault_harness() -> None:
    own = ("seckill.lab", "seckill.strategies", "orders.faults")
    harness = ("orders/faults/", "orders/management/commands/fault_harness.py")
    knowing = (*LAB, *harness, "seckill/management/commands/seckill_lab.py")
    for path in MODULES:
        if not name(path).startswith(knowing):
            assert not [module for module in imports(path) if module.startswith(own)], name(path)


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
def test_nothing_happens_by_signal_or_by_made_up_attribute(path: Path) -> None:
    assert not {"django.dispatch", "django.db.models.signals", "django.core.signals"} & set(imports(path))
    assert "__getattr__" not in [function.name for function in functions(path)]


@each_module
def test_a_module_and_its_functions_can_be_read_in_one_go(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MODULE_LINES_MAX
    lengths = {function.name: (function.end_lineno or 0) - function.lineno + 1 for function in functions(path)}
    assert not {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX}


def test_no_module_of_the_shop_knows_an_app_above_it() -> None:
    above = {"shop": {"seckill", "orders"}, "seckill": {"orders"}, "orders": set()}
    for path in MODULES:
        app = path.relative_to(ROOT).parts[0]
        assert not above[app] & {module.split(".")[0] for module in imports(path)}, name(path)


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
