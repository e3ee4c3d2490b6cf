"""Proof: a signature by which this user's own program knows again what it wrote.

The key is a secret of this user on this machine. Where there is none, or it is not hers alone, nothing is signed and
nothing is proved, which is no error: whoever asks for a proof does without.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import sys
import uuid
from contextlib import suppress
from pathlib import Path

__all__ = ["is_signed", "sign", "state_folder"]

_SECRET = "secret"  # nosec B105 # the name of a file
_N_BYTES = 32
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def sign(message: bytes) -> str:
    """Return a signature, the same each time for one user on one machine, or nothing where there can be no secret.

    A message begins with what it is for, so that what was signed for one purpose proves nothing for another.

    >>> len(sign(b"a note: tea at five")), sign(b"a note: tea") == sign(b"a note: tea")
    (64, True)
    """
    secret = _read_secret() or _make_secret()
    return hmac.digest(secret, message, "sha256").hex() if secret else ""


def is_signed(message: bytes, signature: str) -> bool:
    """Tell whether this user's own program has signed a message, on this machine.

    >>> is_signed(b"a note: tea", sign(b"a note: tea")), is_signed(b"a note: gin", sign(b"a note: tea"))
    (True, False)
    >>> is_signed(b"a note: tea", "")
    False
    """
    secret = _read_secret()
    if secret is None:
        return False
    expected = hmac.digest(secret, message, "sha256").hex().encode()
    return hmac.compare_digest(expected, str(signature).encode(errors="replace"))


def state_folder() -> Path | None:
    """Return the folder in which the program keeps what it must remember, if its place is known.

    >>> state_folder().is_absolute()
    True
    """
    usual = {"darwin": "~/Library/Application Support", "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local"}
    base = usual.get(sys.platform) or os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    with suppress(RuntimeError):  # nobody knows where this user is at home
        folder = Path(os.environ.get("ALLALIKE_STATE") or f"{base}/allalike").expanduser()
        return folder if folder.is_absolute() else None  # what is beside the answers may be a stranger's
    return None


def _read_secret() -> bytes | None:
    """Return the secret, unless it is missing, or others could have read or put it there."""
    folder = state_folder()
    if folder is None:
        return None
    with suppress(OSError):
        descriptor = os.open(folder / _SECRET, _READ)
        with os.fdopen(descriptor, "rb") as file:
            if _is_private(os.fstat(descriptor), 0o077) and _is_private(folder.stat(), 0o022):
                secret = file.read(_N_BYTES + 1)
                return secret if len(secret) == _N_BYTES else None
    return None


def _make_secret() -> bytes | None:
    """Draw a secret, unless another process was faster, and return the one that is there; nothing where none can be."""
    folder = state_folder()
    if folder is None:
        return None
    with suppress(OSError):
        if _is_somebody_elses(folder):
            return None
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        beside = folder / f".{_SECRET}-{uuid.uuid4().hex}"
        try:
            with os.fdopen(os.open(beside, _MAKE, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_N_BYTES))
            os.link(beside, folder / _SECRET)  # whole, and never in the place of another
        finally:
            beside.unlink(missing_ok=True)
    return _read_secret()


def _is_private(status: os.stat_result, others: int) -> bool:
    """Tell whether this is the user's own, and others have none of these rights."""
    if sys.platform == "win32":  # where each user's profile is closed to the others
        return True
    own = status.st_uid == os.geteuid() and not status.st_mode & others
    return own and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))


def _is_somebody_elses(folder: Path) -> bool:
    """Tell whether root would leave her secret at the home of another user, who could then have none."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return False
    return next(place for place in (folder, *folder.parents) if place.exists()).stat().st_uid != 0
