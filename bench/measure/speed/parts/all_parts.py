"""All parts, in the order in which a round runs those of one group of servers."""

from bench.measure.speed.part import Part
from bench.measure.speed.parts import (
    bare_parts,
    board_parts,
    cluster_parts,
    command_parts,
    journey_parts,
    reading_parts,
    reserving_parts,
    store_parts,
)

PARTS: tuple[Part, ...] = (
    *bare_parts.PARTS,
    *reading_parts.PARTS,
    *reserving_parts.PARTS,
    *board_parts.PARTS,
    *store_parts.PARTS,
    *cluster_parts.PARTS,
    *command_parts.PARTS,
    *journey_parts.PARTS,
)
BY_NAME = {part.name: part for part in PARTS}
# Thirty seconds, to see that everything works. The figures of so short a run mean little.
QUICK = ("rsgi-hello", "rsgi-post", "drf-post", "live", "refusal", "accepted")
