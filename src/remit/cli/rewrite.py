"""Writing a file anew, whole or not at all.

Knows nothing of what is in it. Invariant: whenever it is stopped, the file holds either what it held or what it should.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

__all__ = ["rewrite"]


def rewrite(path: Path, data: bytes) -> None:
    """Give a file other bytes; its mode stays, and a link to it stays a link.

    Raises:
        OSError: it cannot be written, and is as it was.
    """
    target = path.resolve()
    if not target.is_file():
        raise OSError(errno.EINVAL, "it is no file")
    with target.open("r+b"):
        # Its folder alone would decide whether it may be replaced; the file itself must be one that may be written.
        mode = stat.S_IMODE(target.stat().st_mode)
    handle, name = tempfile.mkstemp(prefix=".remit-", dir=target.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        new.chmod(mode)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
