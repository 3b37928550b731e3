"""Files that leave the machine: what is put in their place, what names and bytes tell, what stays behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from beambot.errors import FileRefused
from beambot.flow import outfiles
from beambot.flow.outfiles import attached, from_project, is_private
from beambot.testing.clock import SequentialIds

TOKEN = "ghp_" + "a" * 36
GIB = 1 << 30
PRIVATE = """
.env .ENV .env.local .env~ .env.bak #.env# .env.swp .envrc prod.env .env-prod backup.env.txt deploy/prod.env
service-account.json my-service_account-1.json x-firebase-adminsdk-1.json client_secret_12.json .netrc .netrc~
_netrc terraform.tfstate terraform.tfstate.backup prod.tfvars prod.auto.tfvars.json admin.kubeconfig
kubeconfig .kube/config .vault-token .vault_pass.txt office.ovpn .htpasswd .htaccess .pgpass .my.cnf .npmrc
.yarnrc.yml .pypirc pip.conf .git-credentials .dockercfg .dockerconfigjson auth.json wp-config.php id_rsa
id_ed25519.bak .id_rsa.swp deploy_rsa server.pem server.key.old AuthKey.p8 store.jks vault.kdbx backup.gpg
http.keytab wg0.conf credentials credentials.json aws_credentials db-credentials.yaml secret secrets.yml
db-secret.yaml secrets/db secrets.d/x passwords.txt db_password rootkey.csv accessKeys.csv api_keys.json
access_token .bash_history .zhistory .viminfo cookies.txt repo.git/config .git/config .ssh/known .terraform/x
"""
INNOCENT = """
env.py environment.yml environment.ts tokenizer.json design-tokens.json token.py id_rsa.pub package.json
README.md keyboard.py password_reset.py CredentialsForm.tsx .gitignore .editorconfig src/app.py history.md
Makefile a.py.bak test_secrets_are_hidden.py config.toml app.log server.crt docker-compose.yml main.tf
.github/workflows/ci.yml
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("print(1)\n")
    (folder / "a.txt").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "app.py").write_text("OUTSIDE")
    return folder


async def refusal(folder: Path, wanted: str, most: int = GIB) -> str:
    with pytest.raises(FileRefused) as refused:
        await from_project(folder, wanted, most)
    return str(refused.value)


def once_checked(monkeypatch: pytest.MonkeyPatch, swap: Callable[[], None]) -> None:
    """Something is put in the file's place after it was looked for and before it is opened."""
    swaps = [swap]

    def look(path: Path) -> bool:
        if swaps:
            swaps.pop()()
        return is_private(path)

    monkeypatch.setattr(outfiles, "is_private", look)


# ── what is put in their place ───────────────────────────────────────────────────────────────────────


async def test_a_link_that_takes_the_place_of_a_checked_file_is_not_followed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (project / "a.txt").unlink()
        (project / "a.txt").symlink_to(project.parent / "outside" / "app.py")

    once_checked(monkeypatch, swap)
    assert "cannot be read" in await refusal(project, "a.txt")


async def test_a_link_that_takes_the_place_of_a_checked_folder_is_not_followed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (project / "src").rename(project / "gone")
        (project / "src").symlink_to(project.parent / "outside")

    once_checked(monkeypatch, swap)
    assert "cannot be read" in await refusal(project, "src/app.py")


async def test_a_pipe_is_refused_and_nobody_waits_for_its_other_end(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (project / "a.txt").unlink()
        os.mkfifo(project / "a.txt")

    once_checked(monkeypatch, swap)
    assert "is not a file" in await refusal(project, "a.txt")


async def test_links_inside_of_the_project_are_fine_unless_one_has_a_private_name(project: Path) -> None:
    (project / "short.py").symlink_to("src/app.py")
    (project / "sources").symlink_to("src")
    assert await from_project(project, "short.py", GIB) == b"print(1)\n"
    assert await from_project(project, "sources/app.py", GIB) == b"print(1)\n"
    (project / ".env").symlink_to("a.txt")
    (project / "notes.txt").symlink_to(".env")
    assert "may hold secrets" in await refusal(project, "notes.txt")


async def test_a_folder_that_cannot_be_read_is_a_refusal_like_any_other(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", locked)
    monkeypatch.setattr(os, "listdir", locked)
    assert await refusal(project, "src") == "src cannot be read: Permission denied."


async def test_a_folder_names_what_is_in_it_each_in_one_line_without_what_is_private(project: Path) -> None:
    for name in ("b\nc.txt", ".env", "prod.env", "\u202etxt.exe"):
        (project / name).touch()
    assert await refusal(project, ".") == ". is a folder. In it: a.txt, b c.txt, src/, \ufffdtxt.exe"


# ── size ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_too_large_for_a_chat_is_not_read_whatever_the_chat_takes(project: Path) -> None:
    with (project / "a.txt").open("wb") as file:
        file.truncate(51_000_000)
    assert await refusal(project, "a.txt") == "a.txt is larger than the 50 MB that can be sent here."


async def test_a_file_that_grows_while_it_is_read_is_too_large(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.read

    def growing(place: int, size: int) -> bytes:
        with (project / "a.txt").open("ab") as file:
            file.write(b"x" * 10)
        return read(place, size)

    monkeypatch.setattr(os, "read", growing)
    assert "larger than the 10 bytes" in await refusal(project, "a.txt", 10)


async def test_a_large_file_is_looked_through_in_pieces(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.txt").write_bytes(b"word " * 400_000)
    pieces: list[int] = []

    def noting(text: str) -> str:
        pieces.append(len(text))
        return text

    monkeypatch.setattr(outfiles, "redact", noting)
    assert len(await from_project(project, "a.txt", GIB)) == 2_000_000
    assert max(pieces) <= 256 * 1024


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "latin-1"]
)
async def test_a_token_is_seen_however_its_text_is_written_down(project: Path, encoding: str) -> None:
    (project / "a.txt").write_bytes(f"token = {TOKEN}\n".encode(encoding))
    assert "looks like a key or a token" in await refusal(project, "a.txt")


@pytest.mark.parametrize("lead", [1, outfiles._PIECE - 20, outfiles._PIECE, outfiles._PIECE + outfiles._SHARED - 5])
def test_a_token_is_seen_where_two_pieces_meet(lead: int) -> None:
    assert outfiles.holds_secret(b" " * lead + TOKEN.encode() + b" " * 100)
    assert TOKEN not in outfiles.safe(" " * lead + TOKEN)
    assert not outfiles.holds_secret(b" " * lead + b"no token" * 100_000)


@pytest.mark.parametrize("name", PRIVATE.split())
def test_a_name_tells_that_a_file_may_hold_secrets(name: str) -> None:
    assert is_private(Path(name))


@pytest.mark.parametrize("name", INNOCENT.split())
def test_an_innocent_name_is_not_held_against_a_file(name: str) -> None:
    assert not is_private(Path(name))


# ── names in the chat ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("src/app.py", "app.py"),
        ("../../etc/hosts", "hosts"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("a\nb\r\t.txt", "a b .txt"),
        ("\u202egpj.exe", "\ufffdgpj.exe"),
        ("a\x07\x1bb\u200b.txt", "a\ufffd\ufffdb.txt"),
        ("..", "file"),
        ("", "file"),
        ("src/", "file"),
        (f"{TOKEN}.txt", "[redacted].txt"),
        ("x" * 300 + ".tar.gz", "x" * 40 + "…" + "x" * 32 + ".tar.gz"),
    ],
)
async def test_a_file_is_called_by_a_short_plain_name_in_the_chat(tmp_path: Path, name: str, shown: str) -> None:
    waiting = await attached(tmp_path, SequentialIds(), name, b"x")
    assert waiting.name == shown
    path = Path(waiting.path)
    assert (path.parent, path.read_bytes(), path.stat().st_mode & 0o777) == (tmp_path / "out", b"x", 0o600)


def test_what_is_too_long_to_send_is_cut_at_a_line_and_says_so() -> None:
    text = "".join(f"line {number} ä\n" for number in range(1000)).encode()
    assert outfiles.within(text, len(text)) == text
    cut = outfiles.within(text, 1000)
    assert len(cut) <= 1000
    *lines, note, end = cut.decode().split("\n")
    assert lines == [f"line {number} ä" for number in range(len(lines))]
    assert len(lines) > 60
    assert "cut here" in note
    assert end == ""
    assert len(outfiles.within("ä".encode() * 1000, 999).decode()) < 999


# ── what stays behind ────────────────────────────────────────────────────────────────────────────────


async def test_what_no_message_waits_for_is_swept_once_it_is_old(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in ("wanted", "left", "fresh"):
        (out / name).write_text("x")
    (out / "folder").mkdir()
    for name in ("wanted", "left", "folder"):
        os.utime(out / name, (time.time() - 3700,) * 2)
    await outfiles.sweep(tmp_path, [f"elsewhere/{tmp_path.name}/out/wanted"])
    assert sorted(path.name for path in out.iterdir()) == ["folder", "fresh", "wanted"]


async def test_a_sweep_that_fails_is_no_reason_not_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await outfiles.sweep(tmp_path, [])
    (tmp_path / "out").write_text("not a folder")
    await outfiles.sweep(tmp_path, [])
    (tmp_path / "out").unlink()
    (tmp_path / "out").mkdir()
    for name in ("a", "b"):
        (tmp_path / "out" / name).touch()
        os.utime(tmp_path / "out" / name, (0, 0))

    def locked(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", locked)
    await outfiles.sweep(tmp_path, [])
