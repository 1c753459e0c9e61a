"""The shape of the code: files named for nouns, short modules and functions. Ruff finds hidden imports and signals."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
APPS = ("shop", "seckill", "orders", "web", "bench")

MODULES = sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)
FILES = [*MODULES, *sorted((ROOT / "tests").rglob("*.py"))]

TEMPLATES = sorted(path for suffix in ("html", "txt") for path in (ROOT / "templates").rglob(f"*.{suffix}"))

NAMES_WITHOUT_A_NOUN = {"utils", "util", "helpers", "helper", "services", "service", "common", "misc", "exceptions"}

# About 200 is usual; a longer file holds two nouns.
MODULE_LINES_MAX = 400
# About 40 is usual; a longer function has a step that should be a function of its own.
FUNCTION_LINES_MAX = 70

# A longer line is read by scrolling. A text breaks over lines in `blocktranslate trimmed`.
TEMPLATE_LINE_MAX = 160


def test_a_file_is_named_for_the_noun_it_holds() -> None:
    without = {name(path): NAMES_WITHOUT_A_NOUN & {*path.relative_to(ROOT).parts[:-1], path.stem} for path in FILES}
    assert not {path: found for path, found in without.items() if found}


def test_no_test_imports_another_test() -> None:
    """Steps that several tests take are in tests/steps, under one name each."""
    of_a_test = re.compile(r"^\s*(from|import) .*\btest_", re.MULTILINE)
    assert not [name(path) for path in FILES if of_a_test.search(path.read_text())]


def test_each_name_is_written_where_it_is_set() -> None:
    """So that it is found by a search."""
    generated = re.compile(r"def __getattr__\(|globals\(\)")
    assert not [name(path) for path in MODULES if generated.search(path.read_text())]


def test_no_field_has_a_default_that_the_oldest_python_refuses() -> None:
    """Python 3.11 calls a mapping proxy mutable: a module with such a dataclass cannot be imported there."""
    refused = []
    for path in FILES:
        # Most files have none, and parsing takes long.
        if "MappingProxyType" not in (text := path.read_text()):
            continue
        names = ["MappingProxyType", *re.findall(r"^(\w+)(?::[^=]+)? = MappingProxyType\(", text, re.MULTILINE)]
        default = re.compile(rf"(?:field\(default=)?(?:{'|'.join(names)})\b")
        fields = [node for found in ast.walk(ast.parse(text)) if isinstance(found, ast.ClassDef) for node in found.body]
        refused += [
            f"{name(path)}:{node.lineno}"
            for node in fields
            if isinstance(node, ast.AnnAssign) and node.value and default.match(ast.unparse(node.value))
        ]
    assert not refused


def test_no_type_is_written_as_the_oldest_python_refuses() -> None:
    """Python 3.11 knows no `array[int]`. mypy reads a type without asking whether it can be evaluated; text is not."""
    assert not [
        f"{name(path)}:{found.lineno}"
        for path in FILES
        if "array" in (text := path.read_text())
        for found in ast.walk(ast.parse(text))
        if isinstance(found, ast.Subscript) and ast.unparse(found.value) in ("array", "array.array")
    ]


def test_modules_functions_and_lines_of_templates_are_short() -> None:
    lengths = {name(path): lines_of(path) for path in MODULES}
    assert lengths.keys() >= {"seckill/ledger.py", "shop/settings.py", "orders/life/intake.py"}
    assert not {path: lines for path, lines in lengths.items() if lines > MODULE_LINES_MAX}
    functions = {
        f"{name(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in MODULES
        if lengths[name(path)] > FUNCTION_LINES_MAX
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert len(functions) > 1000
    assert not {function: lines for function, lines in functions.items() if lines > FUNCTION_LINES_MAX}
    assert len(TEMPLATES) > 100
    assert not [
        f"{name(path)}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > TEMPLATE_LINE_MAX
    ]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())
