"""Which tests are slow: those that start processes, servers or a browser of their own, and those with generated input,
of which each tries some hundred examples. `make quick` leaves them out.

Found in what a test and its fixtures call, so there is no list to keep. What a session-scoped fixture starts is for all
tests, and makes none of them slow.
"""

import inspect
import multiprocessing
import subprocess
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import playwright.sync_api
import pytest

from tests import shared_shop

_STARTERS = (subprocess, multiprocessing)
_STARTERS_BY_NAME = (subprocess.run, subprocess.Popen, playwright.sync_api.sync_playwright)
# Where functions are looked into: those of the shop start nothing.
_FOLLOWED = ("tests.", "bench.", "shop.local.")


def is_slow(item: pytest.Item) -> bool:
    return (
        shared_shop.needs_it(item)
        or has_generated_input(item)
        or any(starts_something(function) for function in functions_of(item))
    )


def has_generated_input(item: pytest.Item) -> bool:
    """Hypothesis sets this on the test, also for Schemathesis."""
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def functions_of(item: pytest.Item) -> Iterator[Any]:
    """The test, and its fixtures that are not for all tests."""
    yield getattr(item, "function", None)
    fixtures = getattr(item, "_fixtureinfo", None)
    for found in fixtures.name2fixturedefs.values() if fixtures else ():
        yield from (fixture.func for fixture in found if fixture.scope != "session")


@cache
def starts_something(function: Any) -> bool:
    return any(is_starter(found) for found in reached(inspect.unwrap(function) if callable(function) else None))


def is_starter(found: Any) -> bool:
    return any(found is starter for starter in (*_STARTERS, *_STARTERS_BY_NAME))


def reached(start: Any) -> list[Any]:
    """What the function names, what that names, and so on."""
    found: list[Any] = []
    waiting, seen = [start], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        found.append(one)
        if isinstance(one, dict):
            # As a choice between functions by their names.
            waiting += [value for value in one.values() if isinstance(value, FunctionType)]
        elif isinstance(one, FunctionType | type):
            waiting += named_by(one)
    return found


@cache
def named_by(one: FunctionType | type) -> list[Any]:
    return list(names_in(one))


def names_in(one: FunctionType | type) -> Iterator[Any]:
    if isinstance(one, FunctionType) and one.__module__.startswith(_FOLLOWED):
        for code in (one.__code__, *inner_codes(one.__code__)):
            yield from (one.__globals__[name] for name in code.co_names if name in one.__globals__)
            yield from attributes_of_modules(one, code)
        wrapped = getattr(one, "__wrapped__", None)
        if wrapped is not None:
            yield wrapped
    elif isinstance(one, type) and one.__module__.startswith(_FOLLOWED):
        members = [member for base in one.__mro__ for member in vars(base).values()]
        yield from (member for member in members if isinstance(member, FunctionType))


def attributes_of_modules(one: FunctionType, code: CodeType) -> Iterator[Any]:
    """`prices.measure`, where `prices` is a module."""
    modules = [one.__globals__[name] for name in code.co_names if isinstance(one.__globals__.get(name), ModuleType)]
    for module in modules:
        if module.__name__.startswith(_FOLLOWED):
            yield from (vars(module)[name] for name in code.co_names if name in vars(module))


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from inner_codes(constant)
