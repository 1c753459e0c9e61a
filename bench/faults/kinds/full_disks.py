"""The disk of the reservation store or of PostgreSQL is full.

A limit on the size of files (`ulimit -f`) stands for it: a write beyond the limit fails where one to a full disk would.
It needs neither root nor a file system of its own.
"""

from dataclasses import replace

from bench.faults.buyer_journey import Demand
from bench.faults.fault import INJECT_SECONDS_MAX, Fault, Part
from bench.faults.kinds.data_loss import last_file
from bench.faults.sql import tell
from shop.local.process import Process

# The size of the blocks in which a shell counts.
BLOCK_BYTES = 512
# Without the trap the kernel would end the process by a signal, which a full disk does not send.
LIMITED = 'trap "" XFSZ; ulimit -S -f "$0"; exec "$@"'


class DiskFull(Fault):
    """The server `target` is restarted with little room left and uses it up.

    It dies and starts again, with no more room, until the fault is over.
    """

    target = ""
    duration_seconds = 4.0
    demand = Demand(buyers=80, arrival_seconds=12.0)

    def inject(self) -> None:
        self._process = self.shop.processes[self.target]
        blocks = str(self.bytes_max() // BLOCK_BYTES)
        limited = replace(self._process, argv=["sh", "-c", LIMITED, blocks, *self._process.argv])
        self.shop.swap(self.target, limited)
        self.happened = self.shop.wait_until(lambda: self.is_full(limited), seconds_max=INJECT_SECONDS_MAX)

    def undo(self) -> None:
        self.shop.swap(self.target, self._process)

    def bytes_max(self) -> int:
        """How long a file of the server may become."""
        raise NotImplementedError

    def is_full(self, server: Process) -> bool:
        """Whether it has died of it."""
        return not server.running


class StoreDiskFull(DiskFull):
    """With `appendfsync always` Valkey ends when it cannot append, and tells nobody yes for what it could not write."""

    name = "store-disk-full"
    description = "the store's disk is full in the middle of the sale, for 4 s"
    target = "store"
    disturbs = frozenset({Part.STORE})
    # For some of the next reservations.
    ROOM_BYTES = (1_000, 12_000)

    def bytes_max(self) -> int:
        room = self.rng.randint(*self.ROOM_BYTES)
        self.variant = f"{room} bytes left"
        return last_file(self.shop.store_files()).stat().st_size + room


class PostgresDiskFull(DiskFull):
    """All its processes but the first die when it cannot write its log, and recover from it again and again.

    Buyers are told yes meanwhile, and get their orders later.
    """

    name = "postgres-disk-full"
    description = "PostgreSQL's disk is full in the middle of the sale, for 4 s"
    target = "postgres"
    disturbs = frozenset({Part.POSTGRES})
    # PostgreSQL makes a file of 1 MB in shared memory when it starts.
    BYTES_MAX = 1_250_000
    # The rest is for a few seconds of the trial.
    WRITTEN_BYTES = 1_100_000

    def bytes_max(self) -> int:
        # Each file of the log has 16 MB from the start, so the place within the file counts.
        message = f"SELECT pg_logical_emit_message(false, '', repeat('x', {self.WRITTEN_BYTES}))"
        tell("SELECT pg_switch_wal()", message)
        return self.BYTES_MAX

    def is_full(self, server: Process) -> bool:
        return "PANIC:  could not write to log file" in server.log_since_start()
