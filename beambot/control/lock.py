"""One beambot a store: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from beambot.errors import AlreadyRunning, StoreError, StoreReadOnly

_TRIES = 5
_PAUSE_SECONDS = 0.02


class Owner(Struct, frozen=True):
    """Who holds, or last held, a lock."""

    pid: int
    started_at: float


def lock_path(store: Path) -> Path:
    """Beside the store."""
    return store.with_name(store.name + ".lock")


class StoreLock:
    """Held from `take` to `release`. `stale` is the owner that ended without letting go, if one did."""

    def __init__(self, store: Path, *, now: float) -> None:
        self.store = store
        self.path = lock_path(store)
        self.stale: Owner | None = None
        self._now = now
        self._fd = -1

    def take(self) -> None:
        """Raises `AlreadyRunning` with the owner's process id."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            fix = f"make {self.path.parent} a folder that you can write to, or set store.path"
            raise StoreReadOnly(f"cannot lock {self.store}: {error.strerror}", fix=fix) from None
        try:
            self._claim(fd)
            self.stale = _parse(os.pread(fd, 4096, 0))
            me = json.dumps({"pid": os.getpid(), "started_at": self._now}).encode()
            os.ftruncate(fd, 0)
            os.pwrite(fd, me, 0)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def release(self) -> None:
        """The file stays: to remove it would let a third process lock a file nobody sees. Safe to call twice."""
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> StoreLock:
        self.take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _claim(self, fd: int) -> None:
        for left in reversed(range(_TRIES)):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                # `owner_of` holds the lock for an instant when it looks, so one refusal proves nothing.
                if left:
                    time.sleep(_PAUSE_SECONDS)
            except OSError as error:
                fix = "put the store on a local disk (store.path)"
                raise StoreError(f"cannot lock {self.path}: {error.strerror}", fix=fix) from None
        raise _already_running(self.store, _parse(os.pread(fd, 4096, 0)))


def owner_of(store: Path) -> Owner | None:
    """The beambot that runs on this store now."""
    try:
        fd = os.open(lock_path(store), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _parse(os.pread(fd, 4096, 0)) or Owner(0, 0.0)
    except OSError:
        return None
    finally:
        os.close(fd)
    return None


def _already_running(store: Path, owner: Owner | None) -> AlreadyRunning:
    if owner is None or owner.pid <= 0:
        return AlreadyRunning(f"another beambot uses {store}", fix="stop it first, or set another store.path")
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(owner.started_at))
    return AlreadyRunning(
        f"another beambot uses {store}: process {owner.pid}, since {since}",
        fix=f"stop it with `kill {owner.pid}`, or set another store.path",
    )


def _parse(raw: bytes) -> Owner | None:
    try:
        data = json.loads(raw)
        return Owner(int(data["pid"]), float(data["started_at"]))
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
