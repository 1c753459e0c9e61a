"""python -m bench.faults.shifted_clock SECONDS -m MODULE ARGUMENTS: run a module in a process whose clock is wrong.

`time.time` and the `now` of `datetime` are replaced before anything else is imported; timers and the monotonic clock
stay right, as they do on a machine whose clock is wrong. (As the packages freezegun and libfaketime do it.)
"""

import copyreg
import datetime
import runpy
import sys
import time

RealDatetime = datetime.datetime
real_time = time.time
real_time_ns = time.time_ns


class Kind(type):
    """Every datetime counts as one of ours, those made before the change too."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, RealDatetime)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, RealDatetime)


def shift(seconds: float) -> None:
    """From now on this process's clock is `seconds` ahead of the machine's; below zero, behind it."""
    by = datetime.timedelta(seconds=seconds)

    class ShiftedDatetime(RealDatetime, metaclass=Kind):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> RealDatetime:  # type: ignore[override]
            return RealDatetime.now(tz) + by

        @classmethod
        def utcnow(cls) -> RealDatetime:  # type: ignore[override]
            return RealDatetime.now(datetime.UTC).replace(tzinfo=None) + by

        @classmethod
        def today(cls) -> RealDatetime:  # type: ignore[override]
            return cls.now()

    # Pickle finds a class by its name, and both bear that of the real one now.
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
