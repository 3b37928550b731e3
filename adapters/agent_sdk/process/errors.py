"""What the program says when something is wrong, as one clear error each, with the fix."""

from __future__ import annotations

import re
from pathlib import Path

from beambot.api import AgentError, AgentLogin, SessionGone
from beambot.wire.process import Tail

_GONE = re.compile(r"No conversation found|requires a valid session ID|No conversations? to resume", re.IGNORECASE)
_IN_USE = re.compile(r"Session ID \S+ is already in use", re.IGNORECASE)
_LOGIN = re.compile(r"/login|not logged in|invalid api key|authentication_error|OAuth token", re.IGNORECASE)
_FULL = re.compile(r"ENOSPC|no space left on device|disk quota exceeded|EDQUOT", re.IGNORECASE)
_OPTION = re.compile(r"unknown option '?(--[a-z-]+)")
_ROOT = re.compile(r"cannot be used with root", re.IGNORECASE)


def tail(stderr: Tail) -> str:
    """The end of what it printed to standard error, short."""
    return stderr.text(8)[-800:]


def how(code: int | None) -> str:
    """How a process ended, in brackets."""
    if code is None:
        return ""
    return f" (exit code {code})" if code >= 0 else f" (signal {-code})"


def login(command: str) -> AgentLogin:
    """Nobody is logged in."""
    return AgentLogin(
        "Claude Code is not logged in on this machine",
        fix=f"run `{command}` in a terminal on this machine and type /login, or set ANTHROPIC_API_KEY",
    )


def gone(resume: str, folder: Path, elsewhere: str = "") -> SessionGone:
    """The session that was to be resumed is not there, or was begun somewhere else."""
    if elsewhere and elsewhere != str(folder):
        return SessionGone(
            f"the session {resume} was begun in {elsewhere}, not in {folder}",
            fix=f"open it in a project whose path is {elsewhere}, or start a new session",
        )
    return SessionGone(
        f"Claude Code does not know the session {resume} in {folder}",
        fix="start a new session; sessions are kept for each folder apart, and old ones are deleted after a while",
    )


def is_gone(words: str) -> bool:
    """Whether it says that it does not know the session."""
    return bool(_GONE.search(words))


def ended(words: str) -> tuple[str, str]:
    """Why it ended while it was at work, in words of ours where they are clearer, and the fix."""
    if _FULL.search(words):
        return "there is no room left on the disk", "free some space, then send a message to resume the session"
    if _LOGIN.search(words):
        return "it is not logged in any more", "log in again in a terminal (/login), then send a message"
    return words, "send a message to resume the session"


def not_started(words: str, code: int | None, command: str) -> AgentError:
    """Why it ended before it was ready."""
    if _IN_USE.search(words):
        return AgentError(
            "this session is in use by another Claude Code on this machine",
            fix="end that one, or start a new session",
        )
    if _FULL.search(words):
        return AgentError("there is no room left on the disk", fix="free some space and try again")
    if _ROOT.search(words):
        return AgentError(
            "Claude Code does not skip permissions for root",
            fix="run beambot as an ordinary user, or set allow_bypass: false",
        )
    if _LOGIN.search(words):
        return login(command)
    if option := _OPTION.search(words):
        return AgentError(
            f"this version of Claude Code does not know {option[1]}",
            fix="update it, or leave `command` out: the package brings a program that fits",
        )
    said = f": {words}" if words else ""
    return AgentError(
        f"{command} ended{how(code)} before it was ready{said}",
        fix=f"run `{command}` in a terminal and see what it says",
    )


def too_slow(command: str, seconds: float, words: str) -> AgentError:
    """It started and said nothing."""
    said = f": {words}" if words else ""
    return AgentError(
        f"{command} did not answer within {seconds:g} s{said}",
        fix="check that `command` is Claude Code 2.1 or newer, or raise start_timeout",
    )
