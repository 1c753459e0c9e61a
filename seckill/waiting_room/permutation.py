"""Which place an arrival before the opening gets: a permutation of the arrivals that a secret key decides.

A Feistel network over the arrival numbers with SHA-256 as its round function; numbers that are out of range are put in
again until one is in range (cycle walking: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). So no
place is stored, and with the key anybody can compute each of them (docs/fairness.md).
"""

import hashlib
from array import array
from functools import lru_cache

# As many as the format-preserving ciphers have that NIST recommends for small ranges (SP 800-38G: eight and ten).
ROUNDS = 10
# With fewer bits, a network of two small halves does not reach all permutations of a few people equally often.
HALF_BITS_MIN = 4


# A place is asked for again and again. In the memory of a process, one takes a tenth of a kilobyte.
@lru_cache(maxsize=20_000)
def place_of(arrival: int, early: int, key: bytes) -> int:
    """The place of the arrival, both counted from 0. `early` is how many came before the opening; later ones follow."""
    if arrival >= early:
        return arrival
    half_bits, place = half_bits_of(early), arrival
    while True:
        place = encrypted(place, half_bits=half_bits, key=key)
        if place < early:
            return place


def arrival_at(place: int, *, early: int, key: bytes) -> int:
    """The arrival that has this place."""
    if place >= early:
        return place
    half_bits, arrival = half_bits_of(early), place
    while True:
        arrival = decrypted(arrival, half_bits=half_bits, key=key)
        if arrival < early:
            return arrival


def half_bits_of(early: int) -> int:
    """Half of the bits of the numbers that are permuted."""
    return max((early.bit_length() + 1) // 2, HALF_BITS_MIN)


def encrypted(number: int, *, half_bits: int, key: bytes) -> int:
    mask = (1 << half_bits) - 1
    left, right = number >> half_bits, number & mask
    for scrambled in round_tables(key, half_bits):
        left, right = right, left ^ scrambled[right]
    return left << half_bits | right


def decrypted(number: int, *, half_bits: int, key: bytes) -> int:
    mask = (1 << half_bits) - 1
    left, right = number >> half_bits, number & mask
    for scrambled in reversed(round_tables(key, half_bits)):
        left, right = right ^ scrambled[left], left
    return left << half_bits | right


# A half of a number has so few values that all of them are scrambled once: 2,560 for twenty thousand people, which
# takes three milliseconds. Then a place takes a tenth of what it takes to hash in each round.
@lru_cache(maxsize=100)
def round_tables(key: bytes, half_bits: int) -> "list[array[int]]":
    """For each round the scrambled values of all halves, which only a holder of the key can compute."""
    mask, keyed = (1 << half_bits) - 1, hashlib.sha256(key)
    return [array("L", [scrambled(half, number, keyed) & mask for half in range(mask + 1)]) for number in range(ROUNDS)]


def scrambled(half: int, round_number: int, keyed: "hashlib._Hash") -> int:
    """32 bits. `keyed` is SHA-256 that has taken in the key."""
    digest = keyed.copy()
    digest.update(b"%d:%d" % (round_number, half))
    return int.from_bytes(digest.digest()[:4])
