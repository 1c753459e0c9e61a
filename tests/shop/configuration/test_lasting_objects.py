"""While a process loads, nothing is collected, and nothing of what it has loaded is collected later."""

import gc
from contextlib import suppress

from shop.configuration.lasting_objects import loading


def test_nothing_is_collected_while_a_process_loads_and_nothing_of_it_later() -> None:
    with loading():
        assert not gc.isenabled()
        loaded = {"an": ["object"]}
    assert gc.isenabled()
    assert not any(one is loaded for one in gc.get_objects())
    with suppress(ZeroDivisionError), loading():
        raise ZeroDivisionError
    assert gc.isenabled()
