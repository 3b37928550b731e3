"""The demo agent's side of the protocol: sessions, modes, models, prompts and their end."""

from __future__ import annotations

import secrets
from typing import Any

import anyio
import anyio.abc
from msgspec import Raw

from adapters.demo.history import History
from adapters.demo.script import GREETING, Step, goes_on, is_fast, parse
from adapters.demo.steps import STEPS, Turn
from beambot.wire.jsonl import TooLong
from beambot.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Garbage, Peer, Request, RpcError, read

VERSION = "1.0"
NOT_FOUND = -32002
MODES = [
    {"id": "default", "name": "Ask first", "description": "asks before it changes anything"},
    {"id": "auto", "name": "Automatic", "description": "does not ask"},
]
MODELS = [
    {"modelId": "demo-small", "name": "Demo small", "description": "knows nothing, quickly"},
    {"modelId": "demo-large", "name": "Demo large", "description": "knows nothing, at length"},
]
COMMANDS = [
    {"name": "compact", "description": "fold what was said so far"},
    {"name": "clear", "description": "forget what was said so far"},
    {"name": "echo", "description": "say something", "input": {"hint": "what to say"}},
]


class Session:
    """One conversation."""

    def __init__(self, id: str, cwd: str) -> None:
        self.id = id
        self.cwd = cwd
        self.mode = "default"
        self.model = "demo-small"
        self.prompts = 0
        self.used = 0
        self.scope: anyio.CancelScope | None = None
        self.injected: list[str] = []


class DemoAgent:
    """The handler of the wire."""

    def __init__(self, history: History, pace: float, steer: bool) -> None:
        self._history = history
        self._pace = pace
        self._steer = steer
        self._sessions: dict[str, Session] = {}
        self._client: dict[str, Any] = {}
        self.peer: Peer | None = None
        self.group: anyio.abc.TaskGroup | None = None

    def line(self, line: bytes) -> bool:
        return False

    def strange(self, found: Garbage | TooLong) -> None:
        return

    async def breathe(self, size: int) -> None:
        return

    def notified(self, method: str, params: Raw) -> None:
        if method == "session/cancel":
            session = self._sessions.get(str(read(params, dict[str, Any]).get("sessionId")))
            if session and session.scope:
                session.scope.cancel()

    def requested(self, request: Request) -> None:
        try:
            params = read(request.params, dict[str, Any])
            if request.method == "session/prompt":
                session = self._session(params)
                if session.scope is not None:
                    raise RpcError(INVALID_PARAMS, "a turn is running")
                session.scope = anyio.CancelScope()
                assert self.group is not None
                self.group.start_soon(self._prompt, request, session, _text(params))
            else:
                request.reply(self._handle(request.method, params))
        except RpcError as error:
            request.fail(error.code, error.message)
        except (ValueError, TypeError, KeyError) as error:
            request.fail(INVALID_PARAMS, f"{request.method} has an unexpected form: {error!r}")
        if request.method in ("session/new", "session/load", "session/fork"):
            self._announce(request)

    def update(self, session: Session, what: str, /, **fields: Any) -> None:
        """One session/update."""
        assert self.peer is not None
        params = {"sessionId": session.id, "update": {"sessionUpdate": what, **fields}}
        self.peer.notify("session/update", params)

    def _handle(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                self._client = params.get("clientCapabilities") or {}
                return self._about()
            case "session/new":
                session = self._add(secrets.token_hex(8), str(params["cwd"]))
                self._history.create(session.id, session.cwd)
                return {"sessionId": session.id, **self._settings(session)}
            case "session/load" | "session/fork":
                return self._again(method, params)
            case "session/list":
                return {"sessions": self._history.known(str(params.get("cwd")))}
            case "session/set_mode":
                session = self._session(params)
                session.mode = _one_of(params["modeId"], [mode["id"] for mode in MODES])
                self.update(session, "current_mode_update", currentModeId=session.mode)
                return {}
            case "session/set_model":
                session = self._session(params)
                session.model = _one_of(params["modelId"], [model["modelId"] for model in MODELS])
                return {}
            case "_session/steering" if self._steer:
                session = self._session(params)
                if session.scope is None:
                    return {"outcome": "rejected"}
                session.injected.append(_text(params))
                return {"outcome": "injected"}
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"{method} is not known to the demo agent")

    def _about(self) -> dict[str, Any]:
        return {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "embeddedContext": False},
                "sessionCapabilities": {"list": {}, "fork": {}},
            },
            "agentInfo": {"name": "beambot-demo", "title": "Demo agent", "version": VERSION},
            "authMethods": [],
            **({"_meta": {"steering": {"supported": True}}} if self._steer else {}),
        }

    def _settings(self, session: Session) -> dict[str, Any]:
        return {
            "modes": {"currentModeId": session.mode, "availableModes": MODES},
            "models": {"currentModelId": session.model, "availableModels": MODELS},
        }

    def _add(self, id: str, cwd: str) -> Session:
        session = self._sessions[id] = Session(id, cwd)
        return session

    def _session(self, params: dict[str, Any]) -> Session:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is None:
            raise RpcError(NOT_FOUND, f"there is no session {params.get('sessionId')}")
        return session

    def _again(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        said = self._history.read(str(params["sessionId"]))
        if said is None:
            raise RpcError(NOT_FOUND, f"there is no session {params['sessionId']}")
        if method == "session/fork":
            session = self._add(secrets.token_hex(8), str(params["cwd"]))
            self._history.create(session.id, session.cwd, said)
        else:
            session = self._add(str(params["sessionId"]), str(params["cwd"]))
            for one in said:
                kind = "user_message_chunk" if one["role"] == "user" else "agent_message_chunk"
                self.update(session, kind, content={"type": "text", "text": one["text"]})
        session.prompts = sum(one["role"] == "user" for one in said)
        return {"sessionId": session.id, **self._settings(session)}

    def _announce(self, request: Request) -> None:
        if self._sessions:
            session = next(reversed(self._sessions.values()))
            self.update(session, "available_commands_update", availableCommands=COMMANDS)

    async def _prompt(self, request: Request, session: Session, text: str) -> None:
        assert self.peer is not None
        assert session.scope is not None
        self._history.append(session.id, "user", text)
        session.prompts += 1
        if session.prompts == 1:
            self.update(session, "session_info_update", title=text.strip()[:60] or "demo")
        turn = Turn(self.peer, session, self._client, 0.0 if is_fast(text) else self._pace, self.update)
        try:
            with session.scope:
                await self._work(turn, text)
        except RpcError as error:
            self._history.append(session.id, "agent", turn.answer)
            session.scope = None
            request.fail(error.code, error.message)
            return
        cancelled = session.scope.cancelled_caught
        session.scope = None
        self._history.append(session.id, "agent", turn.answer)
        used = {"inputTokens": len(text.split()), "outputTokens": len(turn.answer.split())}
        session.used += used["inputTokens"] + used["outputTokens"]
        self.update(session, "usage_update", used=session.used, size=100_000)
        reason = "cancelled" if cancelled else "end_turn"
        request.reply({"stopReason": reason, "usage": {**used, "totalTokens": sum(used.values())}})

    async def _work(self, turn: Turn, text: str) -> None:
        session = turn.session
        if text.startswith("/"):
            await self._command(turn, text[1:])
            return
        cut = self._cut_off(session) if goes_on(text) else ""
        if cut:
            await turn.say(f"I go on with: {cut}\n\n")
        steps: list[Step] = parse(cut or text)
        if not steps:
            await turn.stream(f"{GREETING}\n\nThis was prompt number {session.prompts} of this session.\n")
        while steps or session.injected:
            if session.injected:
                more = session.injected.pop(0)
                await turn.say(f"I heard you: {more}\n\n")
                steps += parse(more)
                continue
            step = steps.pop(0)
            await STEPS[step.word](turn, step.argument)

    def _cut_off(self, session: Session) -> str:
        """The newest prompt that was never answered, else the newest one that had something to do."""
        said = (self._history.read(session.id) or [])[:-1]
        # A turn that broke off while it waited for the client leaves an answer without words.
        answered = [one["role"] == "agent" and bool(one["text"]) for one in said[1:]] + [False]
        asked = [
            (one["text"], done)
            for one, done in zip(said, answered, strict=True)
            if one["role"] == "user" and parse(one["text"]) and not goes_on(one["text"])
        ]
        unanswered = [text for text, done in asked if not done]
        return str((unanswered or [text for text, _ in asked] or [""])[-1])

    async def _command(self, turn: Turn, line: str) -> None:
        name, _, rest = line.partition(" ")
        match name:
            case "compact":
                turn.session.used = 0
                await turn.say(f"Folded {turn.session.prompts} prompts.")
            case "clear":
                self._history.create(turn.session.id, turn.session.cwd)
                turn.session.prompts = 0
                await turn.say("Forgotten.")
            case "echo":
                await turn.say(rest)
            case _:
                await turn.say(f"I do not know `/{name}`. I know /compact, /clear and /echo.")


def _text(params: dict[str, Any]) -> str:
    parts = []
    for part in params["prompt"]:
        if part.get("type") == "text":
            parts.append(str(part["text"]))
        elif part.get("type") == "image":
            parts.append(f"(an image, {part.get('mimeType')})")
    return "\n".join(parts)


def _one_of(value: Any, allowed: list[str]) -> str:
    if value not in allowed:
        raise RpcError(INVALID_PARAMS, f"{value!r} is not one of {', '.join(allowed)}")
    return str(value)
