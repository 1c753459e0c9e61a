"""The names of modules, the size of folders and the arrows between them: a stranger finds a rule by its path alone."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The shop itself. The bench may have a `ledger` among its strategies.
SHOP = ("shop", "seckill", "orders", "web")

# The names that Django and this project give to the same thing in each app or room.
CONVENTIONAL = {
    "__init__",
    "__main__",
    "admin",
    "api",
    "api_urls",
    "apps",
    "checks",
    "formats",
    "models",
    "pages",
    "problem_codes",
    "serializers",
    "sidebar",
    "tasks",
    "translation",
    "urls",
}
# Migrations are numbered by Django, commands are named for those who type them.
NAMED_ELSEWHERE = {"migrations", "commands"}

# The statement alone, since parsing whole modules takes long.
IMPORT = re.compile(r"^ *(from [\w.]+ import (?:\([^)]*\)|.*)|import [\w., ]+)$", re.MULTILINE)

# What one takes in at a glance. Beside the rooms of an app stand fewer loose modules.
FILES_MAX = 20
LOOSE_MODULES_MAX = 12


def modules_in(*folders: str) -> list[str]:
    """The paths of all modules, without those that Django names."""
    return sorted(
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if not NAMED_ELSEWHERE & set(path.parts)
    )


def shared_names(paths: Iterable[str]) -> dict[str, list[str]]:
    """Names that stand for more than one module."""
    found = defaultdict(list)
    for path in paths:
        found[Path(path).stem].append(path)
    return {name: same for name, same in found.items() if len(same) > 1 and name not in CONVENTIONAL}


def crowded_folders(paths: Iterable[str], *, files_max: int = FILES_MAX) -> dict[str, int]:
    """Folders with more than `files_max` modules. Every file counts but `__init__.py`, which is empty."""
    files = Counter(Path(path).parent.as_posix() for path in paths if Path(path).name != "__init__.py")
    return {folder: count for folder, count in files.items() if count > files_max}


def imported_names(source: str) -> Iterator[str]:
    """The dotted names in the imports of a module, wherever they stand."""
    for node in ast.walk(ast.parse("\n".join(IMPORT.findall(source)))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def arrows_of(app: str) -> dict[str, set[str]]:
    """For each folder and each loose module of the app: which others of them it imports."""
    arrows = defaultdict(set)
    for path in (ROOT / app).rglob("*.py"):
        importer = path.relative_to(ROOT / app).with_suffix("").parts[0]
        for name in imported_names(path.read_text()):
            package, *rest = name.split(".")
            if package == app and rest and rest[0] != importer:
                arrows[importer].add(rest[0])
    return arrows


def reached_from(name: str, arrows: Mapping[str, set[str]]) -> set[str]:
    """What `name` imports, directly or through others."""
    reached: set[str] = set()
    waiting = {name}
    while waiting:
        new = arrows.get(waiting.pop(), set()) - reached
        reached |= new
        waiting |= new
    return reached


def ways_back(arrows: Mapping[str, set[str]], *, folders: Iterable[str]) -> list[tuple[str, str]]:
    """Folders that import a loose module which needs them, with that module."""
    modules = arrows.keys() - set(folders)
    return [
        (folder, module)
        for folder in sorted(folders)
        for module in sorted(arrows.get(folder, set()) & modules)
        if folder in reached_from(module, arrows)
    ]


def test_no_two_modules_of_the_shop_have_the_same_name_and_no_folder_is_crowded() -> None:
    modules = modules_in(*SHOP)
    assert {"seckill/ledger.py", "orders/payments/inbox.py", "shop/local/run.py"} <= set(modules)
    assert not shared_names(modules)
    assert not crowded_folders(modules_in(*SHOP, "bench", "tests"))
    # An app has rooms and few loose modules.
    assert not crowded_folders([path for path in modules if path.count("/") == 1], files_max=LOOSE_MODULES_MAX)


# `make lint` forbids all cycles (pyproject.toml). This is the one that a stranger would meet first.
@pytest.mark.parametrize("app", SHOP)
def test_no_folder_imports_back_into_the_top_level_of_its_app(app: str) -> None:
    arrows = arrows_of(app)
    assert arrows
    assert not ways_back(arrows, folders={folder.name for folder in (ROOT / app).iterdir() if folder.is_dir()})


def test_a_way_back_is_found() -> None:
    folders = {"live", "store"}
    down = {"pages": {"live", "ledger"}, "live": {"ledger"}, "ledger": {"store"}}
    assert not ways_back(down, folders=folders)
    assert ways_back({**down, "store": {"ledger"}}, folders=folders) == [("store", "ledger")]
    assert ways_back({**down, "store": {"pages"}}, folders=folders) == [("live", "ledger"), ("store", "pages")]
