"""A stand-in for the `claude` program: it plays recordings of the real one, both directions.

    play NAME        the recording's first turn: its lines come out, and where it waited for ours, it waits
    play A|B|C       recordings with the same beginning: what we write decides which of them goes on
    play NAME:2      the second turn of the recording
    crash            says a little, prints to standard error and dies

Environment: FAKE_RECORDINGS (folder), FAKE_STATE (folder: which sessions there are), FAKE_TROUBLE (printed
instead of starting), FAKE_UNKNOWN (an option it does not know), FAKE_ACCOUNT (JSON), FAKE_LOG (a file that gets
what we write).
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Turn = list[Line]
ACCOUNT = {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty"}


def write(data: Line | str) -> None:
    text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def die(words: str) -> None:
    print(words, file=sys.stderr)
    sys.exit(1)


def turns(name: str) -> list[Turn]:
    """The turns of a recording, each without the prompt that began it."""
    path = Path(os.environ["FAKE_RECORDINGS"]) / f"{name}.ndjson"
    found: list[Turn] = []
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if line["dir"] == "in" and line["data"].get("type") == "user":
            found.append([])
        elif found and line["dir"] != "err":
            found[-1].append(line)
    return found


def kind(data: Line) -> str:
    """What a line of ours amounts to, so that it can be matched with what was recorded."""
    match data.get("type"):
        case "control_request":
            return str(data["request"]["subtype"])
        case "control_response":
            return str(data["response"].get("response", {}).get("behavior", "reply"))
    return str(data.get("type"))


class Fake:
    """One run of the program."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.log = os.environ.get("FAKE_LOG")

    def read(self) -> Line:
        """The next line of ours that is not answered at once."""
        while True:
            text = sys.stdin.readline()
            if not text:
                sys.exit(0)
            if self.log:
                with Path(self.log).open("a", encoding="utf-8") as file:
                    file.write(text)
            data: Line = json.loads(text)
            if data["type"] != "control_request" or data["request"]["subtype"] == "interrupt":
                return data
            self.reply(data)

    def reply(self, data: Line) -> None:
        request = data["request"]
        found: Line = {key: value for key, value in request.items() if key in ("model", "mode")}
        if request["subtype"] == "initialize":
            found = {
                "commands": [{"name": "compact", "description": "make room", "argumentHint": ""}],
                "models": [{"value": "default", "displayName": "Default", "resolvedModel": "claude-opus-5-5"}],
                "account": json.loads(os.environ.get("FAKE_ACCOUNT", "null")) or ACCOUNT,
                "claude_code_version": "2.1.326",
                "current_permission_mode": "default",
            }
        elif request["subtype"] == "mcp_status":
            found = {"mcpServers": [{"name": "files", "status": "connected"}]}
        elif request["subtype"] == "get_context_usage":
            found = {"totalTokens": 2694, "maxTokens": 1000000}
        self.succeed(data["request_id"], found)

    def succeed(self, request: str, found: Line) -> None:
        response = {"subtype": "success", "request_id": request, "response": found}
        write({"type": "control_response", "response": response})

    def live(self) -> None:
        while True:
            data = self.read()
            if kind(data) == "interrupt":
                self.succeed(data["request_id"], {"still_queued": [], "cancelled": []})
            elif data["type"] == "user":
                self.prompted(data)

    def prompted(self, data: Line) -> None:
        state = Path(os.environ["FAKE_STATE"]) / self.session
        state.parent.mkdir(parents=True, exist_ok=True)
        state.touch()
        text = next(one["text"] for one in data["message"]["content"] if one["type"] == "text").splitlines()[0]
        for fate in ("queued", "started"):
            self.lifecycle(data["uuid"], fate)
        if text.startswith("play "):
            self.play([self.turn(name) for name in text[5:].split("|")])
        elif text == "crash":
            turn = self.turn("text")
            for line in turn[:8]:
                self.out(line["data"], {})
            die("Error: it went wrong (scripted)")
        else:
            die(f"the fake does not understand {text!r}")
        self.lifecycle(data["uuid"], "completed")

    def lifecycle(self, prompt: str, state: str) -> None:
        news = {"type": "command_lifecycle", "command_uuid": prompt, "state": state, "uuid": str(uuid.uuid4())}
        write({**news, "session_id": self.session})

    def turn(self, name: str) -> Turn:
        name, _, number = name.partition(":")
        return turns(name)[int(number or 1) - 1]

    def play(self, candidates: list[Turn]) -> None:
        turn, at, ids = candidates[0], 0, {}
        while at < len(turn):
            line = turn[at]
            at += 1
            if line["dir"] == "out":
                self.out(line["data"], ids)
                continue
            got = self.read()
            if kind(got) != kind(line["data"]):
                turn, at, ids = self.other(candidates, turn[: at - 1], kind(got))
            recorded = turn[at - 1]["data"]
            if "request_id" in recorded:
                ids[recorded["request_id"]] = got["request_id"]

    def other(self, candidates: list[Turn], played: Turn, wanted: str) -> tuple[Turn, int, dict[str, str]]:
        """The recording that goes on as we do; its ids become those that were played already."""
        for turn in candidates:
            for at, line in enumerate(turn):
                if line["dir"] == "in":
                    if kind(line["data"]) == wanted:
                        ours, theirs = marks(played), marks(turn[:at])
                        return turn, at + 1, dict(zip(theirs, ours, strict=False))
                    break
        die(f"no recording goes on with {wanted}")
        raise AssertionError

    def out(self, data: Line, ids: dict[str, str]) -> None:
        if data.get("type") == "command_lifecycle":
            return
        text = json.dumps(data, separators=(",", ":"))
        if recorded := data.get("session_id"):
            text = text.replace(recorded, self.session)
        for old, new in ids.items():
            text = text.replace(old, new)
        write(text)


def marks(lines: Turn) -> list[str]:
    """The ids of asks and their tools, in order."""
    found: list[str] = []
    for line in lines:
        data = line["data"]
        if data.get("type") == "control_request":
            found += [data["request_id"], data["request"].get("tool_use_id", "")]
    return [one for one in found if one]


def main(args: list[str]) -> None:
    if "--version" in args:
        print("2.1.326 (Claude Code)")
        return
    if trouble := os.environ.get("FAKE_TROUBLE"):
        die(trouble)
    if (unknown := os.environ.get("FAKE_UNKNOWN")) and unknown in args:
        die(f"error: unknown option '{unknown}'")
    if "--sdk-url" in args:
        die('Error: --sdk-url rejected: host "127.0.0.1" is not an approved Anthropic endpoint.')
    options = dict(itertools.pairwise(args))
    earlier = options.get("--resume", "")
    if earlier and not (Path(os.environ["FAKE_STATE"]) / earlier).exists():
        die(f"No conversation found with session ID: {earlier}")
    Fake(options.get("--session-id") or earlier).live()


if __name__ == "__main__":
    main(sys.argv[1:])
