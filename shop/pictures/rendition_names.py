"""The names of the renditions of pictures: those that imagekit gives, each worked out once in a process.

For a name, imagekit pickles the whole recipe in Python. That took a fifth of the time of a page of products.
"""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from imagekit.cachefiles.namers import source_name_as_path
from imagekit.specs import ImageSpec

# Of ten thousand products, both sizes that lists have: some five megabytes.
NAMES_MAX = 20_000


def rendition_name(spec: ImageSpec) -> str:
    """The setting IMAGEKIT_SPEC_CACHEFILE_NAMER. The specs of one field are of one class, with the recipe."""
    recipe: Any = type(spec)
    return name_of(recipe, spec.source.name)


@lru_cache(maxsize=NAMES_MAX)
def name_of(recipe: type[ImageSpec], picture: str) -> str:
    # All that imagekit reads of the picture.
    name: str = source_name_as_path(recipe(SimpleNamespace(name=picture)))
    return name
