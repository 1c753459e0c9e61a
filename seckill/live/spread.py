"""Waits that differ from answer to answer, so that clients who asked together do not come back together.

The wait depends on the millisecond of the answer, which is in the answer too: so the gate and the views give the same
wait for the same time, and a test can compute it.
"""

# A prime: consecutive milliseconds are spread over the whole range.
STEP = 7919


def spread_ms(wait_ms: int, *, now_ms: int) -> int:
    """`wait_ms`, or up to a quarter more."""
    return wait_ms + now_ms * STEP % (wait_ms // 4)


def spread_seconds(wait_seconds: int, *, now_ms: int) -> int:
    """`wait_seconds`, or up to a half more, in whole seconds as Retry-After has them."""
    return wait_seconds + now_ms * STEP // 1000 % (wait_seconds // 2 + 1)
