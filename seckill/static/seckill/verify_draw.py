"""Recomputes a draw from its published file: python3 verify_draw.py draw.json. It needs nothing but Python."""

import hashlib
import hmac
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    draw = json.load(file)
key, entries, wrong = bytes.fromhex(draw["seed"]), draw["entries"], []
if hashlib.sha256(key).hexdigest() != draw["seed_sha256"]:
    wrong.append("the seed does not fit its hash")
lines = sorted(f"{one['item']} {one['entry']} {one['units']}\n" for one in entries)
if hashlib.sha256("".join(lines).encode()).hexdigest() != draw["entries_sha256"]:
    wrong.append("the entries do not fit their hash")
if len({one["entry"] for one in entries}) < len(entries):
    wrong.append("an entry is listed twice")
if {str(one["item"]) for one in entries} - draw["units"].keys():
    wrong.append("an entry is for an item without units")
for item, left in draw["units"].items():
    of_item = [one for one in entries if one["item"] == int(item)]
    of_item.sort(key=lambda one: hmac.new(key, one["entry"].encode(), "sha256").digest())
    for place, one in enumerate(of_item, start=1):
        won = left is None or one["units"] <= left
        left = left - one["units"] if won and left is not None else left
        if (place, won) != (one["place"], one["won"]):
            wrong.append(f"{one['entry']} must have place {place}, won: {won}")
print("Hash of the seed, published before the first entry:", draw["seed_sha256"])
print("Hash of the entries, published when they closed:", draw["entries_sha256"])
print("Compare both with what you noted before the draw.")
print(f"{len(entries)} entries.", "DIFFERS: " + "; ".join(wrong) if wrong else "The result is right.")
sys.exit(1 if wrong else 0)
