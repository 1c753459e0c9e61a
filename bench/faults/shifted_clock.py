"""python -m bench.faults.shifted_clock SECONDS -m MODULE ARGUMENTS: run a module in a process whose clock is wrong.

`time.time` and the `now` of `datetime` are replaced before anything else is imported; timers and the monotonic clock
stay right, as on a machine whose clock is wrong. (The packages freezegun and libfaketime do the same.)
"""

import copyreg
import datetime
import runpy
import sys
import time

RealDatetime = datetime.datetime
real_time = time.time
real_time_ns = time.time_ns


class AnyDatetime(type):
    """Makes every datetime an instance of the shifted class, those created before the change too."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, RealDatetime)

    def __subclasscheck__(cls, cls_to_check: type) -> bool:
        return issubclass(cls_to_check, RealDatetime)


def shift(seconds: float) -> None:
    """From now on the clock of this process is `seconds` ahead of the machine's; behind it if negative."""
    by = datetime.timedelta(seconds=seconds)

    class ShiftedDatetime(RealDatetime, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> RealDatetime:  # type: ignore[override]
            return RealDatetime.now(tz) + by

    # Pickle finds a class by its name, and both classes have the same name now.
    ShiftedDatetime.__module__ = ShiftedDatetime.__qualname__ = ShiftedDatetime.__name__ = "datetime"
    copyreg.pickle(RealDatetime, lambda moment: (ShiftedDatetime, *moment.__reduce_ex__(2)[1:]))
    datetime.datetime = ShiftedDatetime  # type: ignore[misc]
    time.time = lambda: real_time() + seconds
    time.time_ns = lambda: real_time_ns() + int(seconds * 1e9)


def main(arguments: list[str]) -> None:
    """Shift, then run the module as if it had been started itself."""
    seconds, flag, module, *rest = arguments
    if flag != "-m":
        raise SystemExit(__doc__)
    shift(float(seconds))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
