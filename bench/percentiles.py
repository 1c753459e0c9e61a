"""How long the slowest of many calls took."""

import math
from collections.abc import Sequence


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed; 0 if there are none."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else 0.0
