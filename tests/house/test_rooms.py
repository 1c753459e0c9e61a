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
    "serializers",
    "tasks",
    "translation",
    "urls",
}
# Migrations are numbered by Django, commands are named for those who type them.
NAMED_ELSEWHERE = {"migrations", "commands"}

FILES_MAX = 20


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


def crowded_folders(paths: Iterable[str]) -> dict[tuple[str, str], int]:
    """Folders with more than FILES_MAX files of one kind; kinds are tests and other modules, without Django's names."""
    files = [Path(path) for path in paths]
    kinds = Counter(
        (file.parent.as_posix(), "tests" if file.stem.startswith("test_") else "modules")
        for file in files
        if file.stem not in CONVENTIONAL
    )
    return {folder: count for folder, count in kinds.items() if count > FILES_MAX}


def test_the_modules_are_found() -> None:
    assert {"seckill/ledger.py", "orders/payments/inbox.py", "shop/local/run.py"} <= set(modules_in(*SHOP))


def test_no_two_modules_of_the_shop_have_the_same_name() -> None:
    assert not shared_names(modules_in(*SHOP))


def test_no_folder_has_more_than_twenty_files_of_one_kind() -> None:
    assert not crowded_folders(modules_in(*SHOP, "bench", "tests"))


def test_a_name_that_stands_for_two_modules_is_found() -> None:
    paths = [
        "orders/repair/report.py",
        "seckill/report.py",
        "seckill/models.py",
        "orders/models.py",
        "orders/life/intake.py",
    ]
    assert shared_names(paths) == {"report": ["orders/repair/report.py", "seckill/report.py"]}


def test_a_folder_with_too_many_files_of_one_kind_is_found() -> None:
    modules = [f"orders/module_{number}.py" for number in range(FILES_MAX)]
    tests = [f"orders/test_{number}.py" for number in range(FILES_MAX)]
    assert not crowded_folders([*modules, *tests, "orders/models.py", "orders/api/orders.py"])
    assert crowded_folders([*modules, *tests, "orders/life/intake.py"]) == {("orders", "modules"): FILES_MAX + 1}
