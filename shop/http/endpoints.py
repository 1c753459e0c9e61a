"""How long each endpoint takes, from a request's arrival at the front door to its answer.

An endpoint is called by the name of its route, of which there are as many as the code has. Those of the admin are one.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from django.urls import ResolverMatch, URLPattern, URLResolver, get_resolver

from shop.background.shared_histogram import SharedHistogram

# Where the environment of a request has it, once Django has found the route.
ENDPOINT = "stampede.endpoint"
ADMIN, OTHER = "admin", "other"
# Answers from memory take a tenth of a millisecond; a buyer notices from the tenth of a second on.
endpoint_seconds = SharedHistogram(
    prefix="web.endpoints.seconds", thread_name="endpoint-seconds", bounds=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
)


def endpoint_of(match: ResolverMatch | None) -> str:
    """OTHER where there is no route, or none with a name."""
    if match is None:
        return OTHER
    return ADMIN if match.namespaces else match.url_name or OTHER


@cache
def all_endpoints() -> Sequence[str]:
    return sorted({ADMIN, OTHER, *names_in(get_resolver().url_patterns)})


def names_in(patterns: Sequence[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if not pattern.namespace:
                yield from names_in(pattern.url_patterns)
        elif pattern.name:
            yield pattern.name
