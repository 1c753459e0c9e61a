"""While a process loads, nothing is collected, and nothing of what it has loaded is collected later."""

import gc
from contextlib import suppress

from shop.configuration.lasting_objects import loading


def test_nothing_is_collected_while_a_process_loads() -> None:
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collection_passes_over_loaded_objects() -> None:
    with loading():
        loaded = {"an": ["object"]}
    assert not any(one is loaded for one in gc.get_objects())


def test_a_fault_leaves_the_collector_on() -> None:
    with suppress(ZeroDivisionError), loading():
        raise ZeroDivisionError
    assert gc.isenabled()
