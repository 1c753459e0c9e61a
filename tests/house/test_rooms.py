"""The names of modules and the size of folders: a stranger finds a rule by its path alone."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

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


def test_the_modules_are_found() -> None:
    assert {"seckill/ledger.py", "orders/payments/inbox.py", "shop/local/run.py"} <= set(modules_in(*SHOP))


def test_no_two_modules_of_the_shop_have_the_same_name() -> None:
    assert not shared_names(modules_in(*SHOP))


def test_no_folder_is_crowded() -> None:
    assert not crowded_folders(modules_in(*SHOP, "bench", "tests"))


def test_an_app_has_rooms_and_few_loose_modules() -> None:
    loose = [path for path in modules_in(*SHOP) if path.count("/") == 1]
    assert not crowded_folders(loose, files_max=LOOSE_MODULES_MAX)


def test_a_name_that_stands_for_two_modules_is_found() -> None:
    paths = [
        "orders/repair/report.py",
        "seckill/report.py",
        "seckill/models.py",
        "orders/models.py",
        "orders/life/intake.py",
    ]
    assert shared_names(paths) == {"report": ["orders/repair/report.py", "seckill/report.py"]}


def test_a_crowded_folder_is_found() -> None:
    modules = [f"orders/life/module_{number}.py" for number in range(FILES_MAX)]
    assert not crowded_folders([*modules, "orders/life/__init__.py"])
    assert crowded_folders([*modules, "orders/life/intake.py"]) == {"orders/life": FILES_MAX + 1}
