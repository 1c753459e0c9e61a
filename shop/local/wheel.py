"""Programs that come inside Python wheels."""

from importlib.util import find_spec
from pathlib import Path


class WheelMissing(Exception):
    """A wheel with a server in it is not installed for this machine. The message says what to do."""


def wheel_program(*, package: str, pattern: str) -> Path:
    """The one file of an installed package that matches the pattern. The package itself is not imported.

    Raises WheelMissing.
    """
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:
        for program in Path(spec.origin).parent.glob(pattern):
            return program
    raise WheelMissing(
        f"The package {package} with its server is not installed for this machine. Install the extra "
        "`embedded` (requirements/run.txt has it), or set DATABASE_URL, SECKILL_REDIS_URL and REDIS_URL to "
        "your own servers."
    )
