"""One conversation with one ACP agent: its process, from start to end, and what people do with it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio
import anyio.to_thread

from adapters.acp import handshake, schema
from adapters.acp.client import asks
from adapters.acp.client.terminals import Terminals
from adapters.acp.handshake import AcpConfig
from adapters.acp.incoming import Incoming
from beambot.api import (
    AgentError,
    Answer,
    File,
    OpenOptions,
    PluginContext,
    Prompt,
    UnifiedMessage,
    bodies,
    get_logger,
)
from beambot.wire.jsonrpc import CLOSED, Peer, Reply, RpcError, read

IMAGE_LIMIT = 8 * 1024 * 1024
_IN_INIT = (bodies.CommandsChanged, bodies.ModeChanged, bodies.ModelChanged)
_log = get_logger("acp")


class AcpSession:
    """One process for one session: a crash takes nobody else along."""

    def __init__(self, config: AcpConfig, options: OpenOptions, context: PluginContext) -> None:
        self._config = config
        self._options = options
        self._folder = options.folder
        self._in = Incoming(options.folder, context)
        self._translator = self._in.translator
        self._about = schema.Initialized()
        self._id = ""

    # ── beginning and end ────────────────────────────────────────────────────────────────────────────

    async def start(self, resume: str | None, fork: bool) -> None:
        """Start the agent and open its session, or clean up and say why not."""
        self._child, env = await handshake.launch(self._config, self._folder, self._options.env)
        self._terminals = Terminals(self._folder, env, self._in.printed)
        self._peer = Peer(self._child, self._in)
        self._task = asyncio.create_task(self._run())
        try:
            with anyio.fail_after(self._config.start_timeout):
                troubles = await self._open(resume, fork)
        except RpcError as error:
            await self.close()
            raise handshake.explain(error, self._child, self._config, self._about) from error
        except TimeoutError as error:
            await self.close()
            raise handshake.too_slow(self._config, self._child) from error
        except BaseException:
            await self.close()
            raise
        self._in.opening = False
        self._say(self._init(resumed=resume is not None and not fork))
        self._in.emit([message for message in self._in.held if not isinstance(message.body, _IN_INIT)])
        self._say(*troubles)

    async def close(self) -> None:
        """End the agent, its children and its terminals. Safe twice."""
        self._in.let_go()
        await self._child.stop()
        with anyio.CancelScope(shield=True):
            await asyncio.wait((self._task,))

    def messages(self) -> AsyncIterator[UnifiedMessage]:
        """Everything, in order, until `session_closed`."""
        return self._in.messages()

    async def _open(self, resume: str | None, fork: bool) -> list[bodies.Failure]:
        self._about = await handshake.initialize(self._peer)
        self._id, opened = await handshake.open_session(self._peer, self._about, self._folder, resume, fork)
        self._in.session = self._id
        self._translator.settings.opened(opened)
        troubles = []
        for choose, wanted in ((self.set_mode, self._options.mode), (self.set_model, self._options.model)):
            try:
                if wanted:
                    await choose(wanted)
            except AgentError as error:
                troubles.append(bodies.Failure(error.message, fix=error.fix))
        return troubles

    def _init(self, resumed: bool) -> bodies.SessionInit:
        info = self._about.agent_info or schema.AgentInfo()
        settings = self._translator.settings
        return bodies.SessionInit(
            self._id,
            agent=info.title or info.name or self._config.command,
            version=info.version or "",
            cwd=str(self._folder),
            model=settings.model,
            mode=settings.mode,
            models=settings.models,
            modes=settings.modes,
            commands=self._translator.commands,
            resumed=resumed,
        )

    async def _run(self) -> None:
        try:
            async with anyio.create_task_group() as group:
                self._in.attach(group, self._terminals)
                await self._peer.run()
                with anyio.move_on_after(1):
                    await self._child.wait()
                group.cancel_scope.cancel()
        except Exception as error:
            _log.error("reading the agent failed", error=repr(error))
        finally:
            self._tell_end()
            await self._child.stop()
            await self._terminals.stop()

    def _tell_end(self) -> None:
        """The process is gone: say so, and leave nothing open."""
        code = self._child.returncode
        why = "closed"
        expected = self._in.closing
        if not expected:
            words = handshake.tail(self._child)
            why = f"the agent has ended{handshake.how(code)}{f': {words}' if words else ''}"
            self._say(bodies.Failure(why, False, "agent_ended", "send a message to resume the session"))
        self._in.cancel_asks("the agent has ended")
        if self._translator.turn or self._translator.loose:
            self._in.emit(
                self._translator.finish("interrupted") if expected else self._translator.finish("error", why)
            )
        self._say(bodies.SessionClosed(why, code, expected))
        self._in.end()

    # ── what people do ───────────────────────────────────────────────────────────────────────────────

    async def send(self, prompt: Prompt) -> None:
        """Hand over a prompt; its reply, much later, is the end of the turn."""
        self._check()
        if self._translator.turn:
            raise AgentError("the agent is still busy with an earlier prompt", fix="wait for it, or stop it")
        content = await self._content(prompt)
        self._in.cancel_asks("a new prompt was sent")
        self._in.emit(self._translator.begin(prompt.turn))
        self._in.interrupted = False
        self._peer.call("session/prompt", {"sessionId": self._id, "prompt": content}, self._turn_ended)
        await self._peer.flush()

    async def steer(self, prompt: Prompt) -> bool:
        """Into the running turn, where the agent offers its extension for it; elsewhere it does harm."""
        steering = (self._about.meta or {}).get("steering")
        offered = isinstance(steering, dict) and steering.get("supported") is True
        if not offered or not self._translator.turn or self._in.over:
            return False
        params = {"sessionId": self._id, "prompt": await self._content(prompt)}
        try:
            reply = await self._peer.request("_session/steering", params, schema.Steered)
        except RpcError:
            return False
        return reply.outcome == "injected"

    async def interrupt(self) -> None:
        """Stop the running turn: its reply then comes soon."""
        prompted = bool(self._translator.turn)
        if self._in.over or not (prompted or self._translator.loose):
            return
        self._in.interrupted = prompted
        self._peer.notify("session/cancel", {"sessionId": self._id})
        self._in.cancel_asks("interrupted")
        if not prompted:
            self._in.emit(self._translator.finish("interrupted"))

    async def answer(self, answer: Answer) -> bool:
        """A person's word on an ask. False: it is not open any more."""
        ask = self._in.asks.pop(answer.ask, None)
        if ask is None or self._in.over:
            return False
        if ask.fields is not None:
            ask.request.reply(asks.filled(ask.fields, answer))
            outcome: Any = "denied" if answer.verdict == "deny" else "answered"
            settled = bodies.AskResolved(answer.ask, outcome, answer.by, answer.option, answer.text)
        else:
            option = asks.choose(ask.options, answer)
            ask.request.reply(asks.chosen(option))
            settled = asks.resolved(answer.ask, option, answer)
            if settled.outcome == "denied" and (tool := self._translator.tools.open.get(ask.tool)):
                tool.denied = True
        # Before waiting for the pipe: the agent may end its turn at once, and this comes first.
        self._say(settled)
        with suppress(AgentError):
            await self._peer.flush()
        if answer.interrupt:
            await self.interrupt()
        return True

    async def set_mode(self, mode: str) -> None:
        """By the call made for it, or by the option of that category."""
        await self._set("mode", mode, "session/set_mode", "modeId")
        self._in.emit(self._translator.update(schema.ModeUpdate(current_mode_id=mode)))

    async def set_model(self, model: str) -> None:
        """As `set_mode`."""
        await self._set("model", model, "session/set_model", "modelId")
        settings = self._translator.settings
        if settings.model != model:
            settings.model = model
            self._say(bodies.ModelChanged(model, settings.models))

    async def fork(self) -> str:
        """A second session that knows what this one knows; gives its id."""
        self._check()
        if not self._about.can("fork"):
            raise AgentError("this agent cannot fork a session", fix="start a new session")
        params = {"sessionId": self._id, "cwd": str(self._folder), "mcpServers": []}
        opened = await self._request("session/fork", params)
        return opened.session_id or ""

    def commands(self) -> Sequence[bodies.AgentCommand]:
        """The agent's own slash commands."""
        return self._translator.commands

    async def models(self) -> Sequence[bodies.Choice]:
        """The models on offer."""
        return self._translator.settings.models

    async def account(self) -> Mapping[str, str]:
        """The protocol does not tell."""
        return {}

    async def mcp_servers(self) -> Sequence[bodies.Choice]:
        """The protocol does not tell."""
        return ()

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────

    def _say(self, *said: Any) -> None:
        self._in.emit(self._translator.say(list(said)))

    def _check(self) -> None:
        if self._in.over or self._in.closing:
            raise AgentError("the agent has ended", fix="open the session again")

    def _turn_ended(self, reply: Reply) -> None:
        if isinstance(reply, RpcError) and reply.code == CLOSED:
            return  # `_tell_end` says it, with the reason
        self._in.cancel_asks("the turn has ended")
        interrupted = self._in.interrupted
        if isinstance(reply, RpcError):
            error = handshake.said(reply)
            if reply.code == handshake.AUTH_REQUIRED:
                error = f"{error}. To fix it, {handshake.login_fix(self._about, self._config)}"
            ended = self._translator.finish("interrupted") if interrupted else None
            self._in.emit(ended or self._translator.finish("error", error))
            return
        try:
            prompted = read(reply, schema.Prompted)
        except ValueError:
            prompted = schema.Prompted()
        self._in.emit(self._translator.end(prompted, interrupted))

    async def _request(self, method: str, params: Any) -> schema.Opened:
        try:
            return await self._peer.request(method, params, schema.Opened | None) or schema.Opened()  # type: ignore[arg-type]
        except RpcError as error:
            raise AgentError(f"the agent refused {method}: {handshake.said(error)}") from error

    async def _set(self, what: str, value: str, method: str, key: str) -> None:
        settings = self._translator.settings
        if config_id := settings.config_ids.get(what):
            params = {"sessionId": self._id, "configId": config_id, "value": value}
            reply = await self._request("session/set_config_option", params)
            self._say(*settings.configured(reply.config_options or []))
        elif settings.modes if what == "mode" else settings.models:
            await self._request(method, {"sessionId": self._id, key: value})
        else:
            raise AgentError(f"this agent offers no choice of {what}")

    async def _content(self, prompt: Prompt) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{"type": "text", "text": prompt.text}]
        for file in prompt.files:
            data = await anyio.to_thread.run_sync(_picture, file) if self._about.pictures else None
            if data is not None:
                parts.append({"type": "image", "mimeType": file.mime, "data": data})
            else:
                link = {"type": "resource_link", "name": file.name, "uri": file.path.absolute().as_uri()}
                parts.append({**link, "mimeType": file.mime} if file.mime else link)
        return parts


def _picture(file: File) -> str | None:
    if not file.mime.startswith("image/"):
        return None
    try:
        with file.path.open("rb") as opened:
            data = opened.read(IMAGE_LIMIT + 1)
    except OSError:
        return None
    return None if len(data) > IMAGE_LIMIT else base64.b64encode(data).decode()
