"""The database as a file: making it, recognising it, copying it, and saying what is wrong with it."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path

from beambot.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreMissing, StoreReadOnly

MAGIC = b"SQLite format 3\x00"
Identity = tuple[int, int]


def prepare(path: Path, create: bool) -> tuple[Path, Identity]:
    """Make the folder and the file, private to this user, or refuse a file that is not a database."""
    path = path.expanduser().absolute()
    try:
        if not path.exists():
            _refuse_orphaned_log(path)
            if not create:
                raise StoreMissing(f"there is no database at {path}", fix="start beambot once: beambot up")
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _refuse_strange(path, os.pread(handle, len(MAGIC), 0))
            if os.fstat(handle).st_mode & 0o077:
                with suppress(PermissionError):
                    os.fchmod(handle, 0o600)
            found = os.fstat(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise explain_os(error, path) from error
    return path, (found.st_dev, found.st_ino)


def _refuse_orphaned_log(path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        # SQLite deletes the log of a database that is not there, and with it what was acknowledged last.
        raise StoreMissing(
            f"the database {path} is gone, but its log {log.name} is still there",
            fix=f"put {path.name} back beside its log, or move {log.name} away to begin anew",
        )


def _refuse_strange(path: Path, head: bytes) -> None:
    if not head:
        _refuse_orphaned_log(path)
    elif head != MAGIC:
        raise corrupt(path, "it is not an SQLite database")


def still_there(path: Path, identity: Identity) -> None:
    """Refuse to write into a file that nobody will find again."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise StoreMissing(
            f"the database {path} was removed while beambot was running ({error.strerror})",
            fix="put the file back where it was, or stop beambot and restore a backup",
        ) from error
    if (found.st_dev, found.st_ino) != identity:
        raise StoreMissing(
            f"the database {path} was replaced by another file while beambot was running",
            fix="restart beambot",
        )


def copy(source: Path, target: Path) -> None:
    """A consistent copy of a database in use. Blocks: run it in a thread."""
    target = target.expanduser().absolute()
    if target.exists():
        raise StoreError(f"{target} exists already", fix="choose another name; a backup replaces nothing")
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy_pages(source, part)
        _place(part, target)
    except sqlite3.Error as error:
        # Reading a healthy database fails for few reasons, filling a disk for one.
        broken = source if _code(error) in _BROKEN else target
        raise explain(error, broken) from error
    except OSError as error:
        raise explain_os(error, target) from error
    finally:
        for name in (part, part.with_name(f"{part.name}-journal"), part.with_name(f"{part.name}-wal")):
            with suppress(OSError):
                name.unlink(missing_ok=True)


def _copy_pages(source: Path, part: Path) -> None:
    reading = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
    try:
        writing = sqlite3.connect(part)
        try:
            reading.backup(writing)
            # One file without a log beside it is easier to carry.
            writing.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            writing.close()
    finally:
        reading.close()


def _place(part: Path, target: Path) -> None:
    _sync(part)
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: the check above is all there is against a race.
        os.rename(part, target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ── what is wrong ────────────────────────────────────────────────────────────────────────────────────

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: BaseException) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def concerns_all(error: Exception) -> bool:
    """Whether trying the statements of a batch one by one would meet the same wall again."""
    return isinstance(error, StoreError) or _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, *_BROKEN)


def corrupt(path: Path, detail: str) -> StoreCorrupt:
    """One wording for every sign of damage."""
    return StoreCorrupt(
        f"the database {path} is damaged: {detail}",
        fix="stop beambot, keep a copy of the file and of its -wal, then restore a backup in its place",
    )


def explain(error: BaseException, path: Path) -> StoreError:
    """An error of SQLite in the words of the one exception tree."""
    if isinstance(error, StoreError):
        return error
    match _code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(
                f"another program holds the database {path}",
                fix="close the program that has it open (fuser shows which), then try again",
            )
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"no room left for the database {path}", fix="free some space on its disk")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return corrupt(path, str(error))
        case _ if not path.exists():
            return StoreMissing(
                f"the database {path} is not there any more",
                fix="put the file back where it was, or stop beambot and restore a backup",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return _read_only(path, str(error))
        case sqlite3.SQLITE_IOERR:
            return StoreError(
                f"the database {path} cannot be read or written: {error}",
                fix="check the disk it is on, and the system's log",
            )
        case _:
            return StoreError(f"the database {path} did not do what it was asked: {error}")


def explain_os(error: OSError, path: Path) -> StoreError:
    """The same for the file system."""
    match error.errno:
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return _read_only(path, error.strerror or str(error))
        case errno.ENOSPC | errno.EDQUOT:
            return StoreFull(f"no room left for {path}", fix="free some space on its disk")
        case errno.ENOENT | errno.ENOTDIR | errno.EEXIST if not path.parent.is_dir():
            return StoreMissing(f"{path.parent} is not a folder", fix="make the folder, or choose another path")
        case errno.EEXIST:
            return StoreError(f"{path} exists already", fix="choose another name")
        case errno.EISDIR:
            return StoreError(f"{path} is a folder", fix="give the path of a file in it")
        case _:
            return StoreError(f"{path} cannot be used: {error.strerror or error}")


def _read_only(path: Path, detail: str) -> StoreReadOnly:
    return StoreReadOnly(
        f"the database {path} cannot be written ({detail})",
        fix=f"give the user that runs beambot the right to write {path.name} and the folder {path.parent}",
    )
