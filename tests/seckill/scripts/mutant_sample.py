"""Which of a script's mutants a run tries: a random sample, or all of them.

LUA_MUTANTS in the environment is a number, the seed of the sample, or `all`. Where it is not set, tests/conftest.py
chooses a seed and pytest prints it, so that each run tries other mutants and a run can be repeated.
"""

import random
from collections.abc import Sequence

from tests.seckill.scripts.lua_mutants import Mutant

ALL = "all"
# Per script. A survivor among the 100 to 400 mutants of a script is found by every third to tenth run.
SAMPLE_SIZE = 40


def sample_of(mutants: Sequence[Mutant], *, choice: str, size: int = SAMPLE_SIZE) -> list[Mutant]:
    """The mutants to try, in their order. Raises ValueError where `choice` is neither a number nor `all`."""
    if choice == ALL:
        return list(mutants)
    drawn = {*random.Random(int(choice)).sample(range(len(mutants)), min(size, len(mutants)))}
    return [mutant for number, mutant in enumerate(mutants) if number in drawn]
