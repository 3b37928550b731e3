"""Files that leave the machine: only from inside a project, only on request, never a secret."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio.to_thread

from beambot.errors import FileRefused
from beambot.log import get_logger, redact
from beambot.model.outbound import Attached
from beambot.model.ports import IdSource
from beambot.render.markdown import clean

log = get_logger("files")

_DATA = r"(json|ya?ml|toml|ini|cfg|conf|config|properties|plist|xml|csv|txt|enc)"
_PRIVATE = re.compile(
    # What programs are told in secret, and what they keep of a login.
    r".*\.(env|envrc)([._-].*)?"
    r"|[._]?(netrc|npmrc|yarnrc(\.yml)?|pypirc|pip\.conf|pgpass(\.conf)?|my\.cnf|mylogin\.cnf|ht(passwd|digest|access))"
    r"|[._]?(git-credentials|dockercfg|dockerconfigjson|boto|s3cfg|rclone\.conf|fetchmailrc|msmtprc|wgetrc|curlrc)"
    r"|\.?(terraformrc|terraform\.rc)|auth\.json|wp-config\.php|settings-security\.xml|nuget\.config|wg\d+\.conf"
    r"|cookies?(\.(txt|json|sqlite))?|logins\.json|key[34]\.db|krb5cc_.*|rootkey\.csv"
    # Keys, and the safes they lie in.
    r"|id_(rsa|dsa|ecdsa|ed25519|xmss)[\w-]*|[\w.-]+[_-](rsa|dsa|ecdsa|ed25519)|ssh_host_\w+_key"
    r"|.*\.(pem|key|p12|p8|pk8|pfx|pkcs12|der|kdbx?|keystore|jks|jceks|bks|ppk|asc|gpg|pgp|age|agekey|keytab)"
    r"|.*\.(keychain(-db)?|psafe3|1pux|ovpn|rdp|kubeconfig|tfvars(\.json)?|tfstate(\..*)?)|\.?kube-?config(\..*)?"
    # Anything that calls itself a secret.
    r"|(aws_?)?credentials(\..*)?|secrets?(\.\w+)?|client[-_]?secrets?.*"
    rf"|(.*[-_.])?(secrets?|credentials?|passwords?|passwd|service[-_]?accounts?)(\.{_DATA})?"
    rf"|(.*[-_.])?((private|api|access|account)[-_]?keys?|(access|refresh|auth|bot|api)[-_]?token)(\.{_DATA})?"
    r"|.*(service[-_]?account|adminsdk).*\.json|\.?vault[-_]?(pass|token).*"
    # What was typed.
    r"|.*_history|\.(zhistory|histfile|lesshst|viminfo)",
    re.DOTALL,
)
_PRIVATE_FOLDERS = frozenset(
    {".git", ".hg", ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud", ".config", ".m2", ".vault"}
    | {".terraform", ".terraform.d", ".password-store", "keyrings", ".secrets", "secrets", "secrets.d"}
)
# A copy that an editor or a careful person made is what it was copied from.
_COPY = re.compile(r"(~|#|\.(bak|backup|old|orig|save|saved|copy|tmp|swp|swo|\d+))$")
_NAMES = 20
_LONGEST_NAME, _LONGEST_PATH = 80, 200
# More than this is not for a chat, whatever the chat takes.
MOST_BYTES = 50_000_000
_OLD_SECONDS = 3600.0
# Looked through piece by piece: no piece keeps other threads waiting. No secret is longer than what two share.
_PIECE, _SHARED = 192 * 1024, 16 * 1024
_MARKS = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}


async def from_project(folder: Path, wanted: str, upload_bytes: int) -> bytes:
    """A file of the project, read once and checked as read. Raises `FileRefused` with what to do instead.

    The path is opened name by name, and no name may be a link by then, so that nothing can be put in its place
    after it was checked. What cannot be seen: that a name is a second one of a file elsewhere (a hard link), and
    what stands inside of a packed or encrypted file.
    """
    return await anyio.to_thread.run_sync(_read, folder, wanted.strip(), min(upload_bytes, MOST_BYTES))


def _read(folder: Path, wanted: str, most: int) -> bytes:
    if not wanted:
        raise FileRefused("Write the path behind the command: /file src/app.py")
    try:
        home = folder.resolve(strict=True)
        path = (home / wanted).resolve(strict=True)
        by_the_way = _links(home / wanted)
    except (OSError, RuntimeError, ValueError):
        raise FileRefused(f"There is no file {one_line(wanted)!r} in the project.") from None
    if not path.is_relative_to(home):
        raise FileRefused("That leads out of the project's folder. Only files inside of it can be sent.")
    inside = path.relative_to(home)
    name = one_line(str(inside))
    if any(is_private(each) for each in (Path(wanted), inside, *by_the_way)):
        raise FileRefused(f"{name} may hold secrets: it stays on the machine.")
    try:
        with ExitStack() as opened:
            data = _opened(home, inside, name, most, opened)
    except OSError as error:
        raise FileRefused(f"{name} cannot be read: {error.strerror}.") from None
    if holds_secret(data):
        raise FileRefused(f"Something in {name} looks like a key or a token: it stays on the machine.")
    return data


def _links(path: Path) -> list[Path]:
    """The names that a chain of links goes through, without the folders they stand in."""
    found: list[Path] = []
    while path.is_symlink() and len(found) < 40:
        target = path.readlink()
        found.append(Path(target.name))
        path = path.parent / target
    return found


def _opened(home: Path, inside: Path, name: str, most: int, opened: ExitStack) -> bytes:
    """Nothing here follows a link or waits: for a pipe there would be nobody at its other end."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    place = os.open(home, flags | os.O_DIRECTORY)
    opened.callback(os.close, place)
    for at, part in enumerate(inside.parts, 1):
        place = os.open(part, flags | (os.O_DIRECTORY if at < len(inside.parts) else 0), dir_fd=place)
        opened.callback(os.close, place)
    found = os.fstat(place)
    if stat.S_ISDIR(found.st_mode):
        raise FileRefused(f"{name} is a folder. In it: {_listed(place)}")
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused(f"{name} is not a file that can be sent.")
    # It may grow while it is read.
    data = _up_to(place, most + 1) if found.st_size <= most else b""
    if max(found.st_size, len(data)) > most:
        size = f"{most // 1_000_000} MB" if most >= 1_000_000 else f"{most:,} bytes"
        raise FileRefused(f"{name} is larger than the {size} that can be sent here.")
    return data


def _up_to(place: int, most: int) -> bytes:
    data = bytearray()
    while len(data) < most and (piece := os.read(place, min(most - len(data), 1 << 20))):
        data += piece
    return bytes(data)


def _listed(place: int) -> str:
    with os.scandir(place) as entries:
        names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    shown = [one_line(name) + "/" * is_folder for name, is_folder in names if not is_private(Path(name))]
    more = f" … {len(shown) - _NAMES} more" if len(shown) > _NAMES else ""
    return (", ".join(shown[:_NAMES]) or "nothing that can be sent") + more


def is_private(path: Path) -> bool:
    """Whether a path by its name alone may hold secrets."""
    *folders, name = [part.casefold() for part in path.parts] or [""]
    if any(part in _PRIVATE_FOLDERS or part.endswith(".git") for part in (*folders, name)):
        return True
    names = {name, name.strip(" #")}
    while _COPY.search(name):
        name = _COPY.sub("", name)
        names |= {name, name.lstrip(".#"), "." + name.lstrip(".#")}
    return any(_PRIVATE.fullmatch(each) for each in names)


def holds_secret(data: bytes) -> bool:
    """Whether something in it looks like a key or a token, in whatever way its text is written down."""
    marked = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), "")
    for start in range(0, len(data) or 1, _PIECE):
        piece = data[start : start + _PIECE + _SHARED]
        if any(redact(text) != text for text in _readings(piece, marked)):
            return True
    return False


def _readings(piece: bytes, marked: str) -> Iterator[str]:
    text = piece.decode("utf-8", "replace")
    yield text
    if marked:
        yield piece.decode(marked, "replace")
    if b"\0" in piece or "\N{REPLACEMENT CHARACTER}" in text:
        # Without its zeros wide text is narrow, whichever end comes first and wherever it begins.
        yield piece.replace(b"\0", b"").decode("latin-1")


def safe(text: str) -> str:
    """The same as `redact`, for a long text: other threads wait only where there is something to hide."""
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE + _SHARED]
        if redact(piece) != piece:
            return redact(text)
    return text


def within(data: bytes, most: int) -> bytes:
    """The text, or as many lines of it as may be sent, and one that says so."""
    most = min(most, MOST_BYTES)
    if len(data) <= most:
        return data
    note = f"\n… cut here: all of it would be {len(data):,} bytes, and {most:,} can be sent.\n".encode()
    kept = data[: max(most - len(note), 0)]
    line = kept.rfind(b"\n", len(kept) // 2)
    kept = kept[:line] if line > 0 else kept.decode("utf-8", "ignore").encode()
    return (kept + note)[:most]


def one_line(text: str, longest: int = _LONGEST_PATH) -> str:
    """A name or a path as it may be said in a chat: short, in one line, without signs that deceive."""
    text = redact(" ".join(clean(text).split()))
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[1 - longest // 2 :]}"


def chat_name(name: str) -> str:
    """What a file is called in a chat: no path, and its ending is kept."""
    last = one_line(re.split(r"[/\\]", name)[-1], _LONGEST_NAME)
    return last if last.strip(".") else "file"


async def attached(folder: Path, ids: IdSource, name: str, data: bytes) -> Attached:
    """Keep bytes until they are sent: a restart in between loses nothing."""
    path = folder / "out" / ids.new()
    await anyio.to_thread.run_sync(_keep, path, data)
    return Attached(str(path), chat_name(name), temporary=True)


def _keep(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(place, "wb") as file:
            file.write(data)
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise


async def sweep(folder: Path, wanted: Collection[str]) -> None:
    """Remove what waits for nothing any more: no message that is still to be sent names it. Never raises."""
    names = {Path(path).name for path in wanted}
    await anyio.to_thread.run_sync(_sweep, folder / "out", names, time.time() - _OLD_SECONDS)


def _sweep(folder: Path, wanted: set[str], before: float) -> None:
    try:
        left = [path for path in folder.iterdir() if path.name not in wanted]
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning("files that were sent long ago could not be looked for", why=str(error))
        return
    for path in left:
        try:
            found = path.lstat()
            if found.st_mtime < before and not stat.S_ISDIR(found.st_mode):
                path.unlink()
        except OSError as error:
            log.warning("a file that was sent long ago could not be removed", why=str(error))
