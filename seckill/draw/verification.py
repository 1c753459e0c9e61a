"""Compares a draw that was carried out with a recomputation: the published file, the rows, and a file from outside."""

import json
from collections.abc import Mapping
from typing import Any

from seckill.draw.drawing import differences, seed_sha256
from seckill.models import Draw, DrawEntry


def faults_of_rows(draw: Draw) -> list[str]:
    """Recompute what the shop has published, and compare the rows with it."""
    content = json.loads(draw.file)
    found = [f"published file: {fault}" for fault in differences(content)]
    if (content["seed"], content["entries_sha256"], content["units"]) != (draw.seed, draw.entries_sha256, draw.units):
        found.append("published file: seed, hash or units are not those of the database")
    published = {one["entry"]: (one["item"], one["units"], one["place"], one["won"]) for one in content["entries"]}
    rows = DrawEntry.objects.filter(item__sale=draw.pk)
    stored = {
        str(entry_id): tuple(values)
        for entry_id, *values in rows.values_list("entry_id", "item_id", "units", "place", "won_at_draw")
    }
    for entry_id in sorted(published.keys() | stored.keys()):
        if published.get(entry_id) != stored.get(entry_id):
            values = f"{stored.get(entry_id)} in the database, published {published.get(entry_id)}"
            found.append(f"entry {entry_id}: {values}")
    return found


def faults_of_file(draw: Draw, content: Mapping[str, Any]) -> list[str]:
    """Recompute a downloaded file, and compare it with the draw that this shop has carried out."""
    found = [f"file: {fault}" for fault in differences(content)]
    ours = (draw.pk, seed_sha256(draw.seed), draw.entries_sha256, draw.units)
    if (content["sale"], content["seed_sha256"], content["entries_sha256"], content["units"]) != ours:
        found.append("file: sale, hashes or units are not those of this shop")
    return found
