"""Types for the arguments of commands; argparse prints their errors."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable


def whole(text: str) -> int:
    """A whole number, 1 or more."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text} is not a whole number of 1 or more")
    return int(text)


def span(text: str) -> tuple[int, int]:
    """`2` or `1-3` as the lowest and the highest number."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})(?:-([1-9][0-9]{0,5}))?", text)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if low > high:
        raise ArgumentTypeError(f"{text} is neither a number of units nor a range such as 1-3")
    return low, high


def number_up_to(highest: int) -> Callable[[str], int]:
    """A type: a whole number from 1 to `highest`."""

    def number(text: str) -> int:
        # The length first: int() refuses some thousand digits with an error of its own.
        fits = text.isascii() and text.isdigit() and len(text) <= len(str(highest))
        if not fits or not 1 <= int(text) <= highest:
            raise ArgumentTypeError(f"{text[:20]} is not a whole number from 1 to {highest}")
        return int(text)

    return number
