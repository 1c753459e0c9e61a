"""Messages of Django that are shown while they are true: the next page that can show one may come much later.

Public pages are the same for everybody and show none.
"""

import time
from collections.abc import Iterator

from django.contrib.messages.storage.base import Message
from django.contrib.messages.storage.fallback import FallbackStorage

# Long enough for a redirect on a slow phone.
FRESH_SECONDS = 60
MARK = " at-"


class FreshMessages(FallbackStorage):
    """In cookie and session, as Django keeps them, with the time at which each was said behind its tags."""

    def add(self, level: int, message: str, extra_tags: str | None = "") -> None:
        super().add(level, message, f"{extra_tags or ''}{MARK}{int(time.time())}")

    def __iter__(self) -> Iterator[Message]:
        return (message for message in super().__iter__() if is_fresh(message))


def is_fresh(message: Message) -> bool:
    """Whether it was said just now. One of the release before has no time."""
    _tags, _mark, said = (message.extra_tags or "").partition(MARK)
    return not said or time.time() - int(said) < FRESH_SECONDS
