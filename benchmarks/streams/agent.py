"""An agent that says a given work in real time, over the Agent Client Protocol: `agent.py WORK DIARY`.

WORK is a JSON list of `[at, kind, text]`: seconds after the prompt, and `text`, `tool` or `done`. DIARY gets a line
for each thing it did: its moment, and `opened`, `resumed`, `prompted` or the text it has said. It is a program of
its own, so that its work is not counted as beambot's.
"""

from __future__ import annotations

import json
import sys
import time
from typing import IO, Any

SESSION = "the-session"


class Agent:
    """Answers one request after the other; a prompt is answered when the whole work is said."""

    def __init__(self, work: list[tuple[float, str, str]], diary: IO[str]) -> None:
        self._work = work
        self._diary = diary

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self._write({"id": message["id"], "result": self._handle(message["method"])})

    def _handle(self, method: str) -> dict[str, Any]:
        match method:
            case "initialize":
                can = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
                return {"protocolVersion": 1, "agentCapabilities": can, "authMethods": []}
            case "session/new":
                self._note("opened")
                return {"sessionId": SESSION}
            case "session/resume":
                self._note("resumed")
                return {"sessionId": SESSION}
            case "session/prompt":
                self._note("prompted")
                self._say()
                return {"stopReason": "end_turn"}
        return {}

    def _say(self) -> None:
        begun, tool = time.monotonic(), 0
        for at, kind, text in self._work:
            time.sleep(max(0.0, begun + at - time.monotonic()))
            match kind:
                case "tool":
                    tool += 1
                    what = {"toolCallId": f"tool{tool}", "title": text, "kind": "execute", "status": "in_progress"}
                    self._update("tool_call", what)
                case "done":
                    self._update("tool_call_update", {"toolCallId": f"tool{tool}", "status": "completed"})
                case _:
                    self._update("agent_message_chunk", {"content": {"type": "text", "text": text}})
                    self._note(text)

    def _update(self, kind: str, what: dict[str, Any]) -> None:
        params = {"sessionId": SESSION, "update": {"sessionUpdate": kind, **what}}
        self._write({"method": "session/update", "params": params})

    def _write(self, message: dict[str, Any]) -> None:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()

    def _note(self, what: str) -> None:
        self._diary.write(json.dumps([time.time(), what]) + "\n")
        self._diary.flush()


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as work, open(sys.argv[2], "a", encoding="utf-8") as diary:
        try:
            Agent(json.load(work), diary).serve()
        except BrokenPipeError:
            # Whoever listened is gone.
            sys.stderr.close()


if __name__ == "__main__":
    main()
