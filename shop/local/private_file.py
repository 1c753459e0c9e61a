"""Files with passwords in them."""

import os
from pathlib import Path


def write_private(*, path: Path, text: str) -> None:
    """Write a file that only its owner can read. It is replaced as a whole."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    unfinished.replace(path)
