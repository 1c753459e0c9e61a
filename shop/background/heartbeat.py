"""Signs of life of workers and beat, for the probes of a container (HEARTBEAT_FILE) and for systemd (WatchdogSec)."""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

INTERVAL_SECONDS = 5.0
_last_s = 0.0


def beat_once() -> None:
    """Give a sign of life, if the last one was a while ago. Never raises: a full disk ends no worker."""
    global _last_s
    now_s = time.monotonic()
    if now_s - _last_s < INTERVAL_SECONDS:
        return
    _last_s = now_s
    with suppress(OSError):
        if settings.HEARTBEAT_FILE:
            Path(settings.HEARTBEAT_FILE).touch()
        if address := os.environ.get("NOTIFY_SOCKET"):
            tell_systemd(address)


def tell_systemd(address: str) -> None:
    """As sd_notify(3) does: one datagram. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as notify:
        # An abstract address is written with @ for its first byte, which is 0.
        notify.sendto(b"WATCHDOG=1", f"\0{address[1:]}" if address.startswith("@") else address)
