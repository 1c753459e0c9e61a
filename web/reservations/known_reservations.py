"""Remembers the reservations of an item, so that a pass with a reservation is never refused.

While no units are left, or the sale is paused or over, hardly a reservation is added. So the ids are read once, in
portions. The few that are added later, when units come back, are in the list of the latest ones. Its entries are
numbered by the counter `reservations`; a gap shows that one is missing, and then all ids are read again.
"""

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

# Half of an id, random but for two bits. If two ids have the same half, the script decides.
MASK = 2**64 - 1
# An id takes some 80 bytes here. For an item with more reservations, the script decides.
RESERVATIONS_MAX = 2_000_000
# How many entries of the list are fetched: one while none is added, a few while none is missing, or all (reserve.lua
# keeps 128 to 191).
LATEST_ONE, LATEST_FEW, LATEST_ALL = 1, 16, 200


class KnownReservations:
    """The ids of one item since one of its verifications. One thread writes, another asks; ids are only added."""

    def __init__(self, *, verification: bytes | None = None) -> None:
        """`verification` is that of the item (item_state.mark_verified); None if it was never compared with orders."""
        self.verification = verification
        # How many entries of the list `follow` wants next time.
        self.latest_count = LATEST_FEW
        # Where the next portion begins. 0: the reading has not begun, or is done.
        self.cursor = 0
        self._ids: set[int] = set()
        # All reservations up to this number are known. None: not all ids have been read.
        self._known_to: int | None = None
        # How many reservations there were when the reading began: it finds at least these.
        self._reading_to: int | None = None

    def has(self, reservation_id: UUID) -> bool:
        """Whether there is, or was, this reservation. Ask only after `follow` has returned True."""
        return reservation_id.int & MASK in self._ids

    def follow(self, *, reservations: int, latest: Sequence[bytes]) -> bool:
        """Take in the newest entries of the list. True if all `reservations` are known.

        The list must have been read after the counter.
        """
        entries = dict(parsed(latest))
        if self._known_to is not None and reservations < self._known_to:
            # The item was replaced since it was read.
            self._known_to = None
        self._ids.update(entries.values())
        if self._known_to is None:
            return False
        known_before = self._known_to
        while self._known_to + 1 in entries:
            self._known_to += 1
        complete = self._known_to >= reservations
        if not complete and self.latest_count == LATEST_ALL:
            # More were added than the list keeps, or an order was restored, which makes no entry.
            self._known_to = None
        is_added_to = self._known_to != known_before
        self.latest_count = (LATEST_FEW if is_added_to else LATEST_ONE) if complete else LATEST_ALL
        return complete

    @property
    def must_be_read(self) -> bool:
        """Whether all ids are to be read, in portions from `cursor` on."""
        return self._known_to is None and len(self._ids) <= RESERVATIONS_MAX

    def take_portion(self, ids: Iterable[bytes], *, next_cursor: int, reservations: int) -> None:
        """Take in a portion of the ids. `reservations` is the counter as it was before the reading."""
        if self._reading_to is None:
            self._reading_to = reservations
        self._ids.update(number for name in ids if (number := number_of(name)) is not None)
        self.cursor = next_cursor
        if next_cursor == 0:
            self._known_to, self._reading_to = self._reading_to, None


def parsed(latest: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Entries of the list: the number of a reservation, and its id. Unreadable entries are left out."""
    for entry in latest:
        number, _colon, name = entry.partition(b":")
        id_number = number_of(name)
        if number.isdigit() and id_number is not None:
            yield int(number), id_number


def number_of(name: bytes) -> int | None:
    """The half of a reservation id that is remembered, from the id as text."""
    try:
        return int(name.replace(b"-", b"")[-16:], 16)
    except ValueError:
        return None
