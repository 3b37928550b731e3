"""One conversation with Claude Code: its process, from start to end, and what people do with it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

import anyio
import anyio.to_thread

from adapters.claude import requests
from adapters.claude.process import errors
from adapters.claude.process.leftovers import MARK, end_leftovers
from adapters.claude.process.prompt import user_line
from adapters.claude.process.spawn import ClaudeConfig, Pipe, Quirks, Transport, Wanted, environment, spawn
from adapters.claude.process.talk import Refused, Silent, Talk
from adapters.claude.resumable import ENOUGH, Memory, begun_in, projects_folder, room_for
from adapters.claude.translate import Translator
from beambot.api import (
    AgentError,
    Answer,
    IdSource,
    OpenOptions,
    PluginContext,
    Prompt,
    UnifiedMessage,
    bodies,
    get_logger,
)

BYPASS = "bypassPermissions"
# How much the model may think, by the word that people say.
THINKING = {"low": 4_000, "medium": 8_000, "high": 16_000, "max": 32_000}
_STEER_SECONDS = 2.0
# What was told of these while the session opened stands in its first message.
_IN_INIT = (bodies.CommandsChanged, bodies.ModeChanged, bodies.ModelChanged)
_log = get_logger("claude")


def new_uuid(ids: IdSource) -> str:
    """The program wants ids of this form."""
    return str(uuid.UUID(bytes=sha256(ids.new(32).encode()).digest()[:16], version=4))


class _Again(Exception):
    """This version lacks something that can be left out."""


class ClaudeSession:
    """One process for one session: a crash takes nobody else along."""

    def __init__(
        self, config: ClaudeConfig, options: OpenOptions, context: PluginContext, quirks: Quirks, memory: Memory
    ) -> None:
        self._config = config
        self._options = options
        self._context = context
        self._quirks = quirks
        self._memory = memory
        self._session = ""
        self._about = requests.Initialized()
        self._notes: list[bodies.Failure] = []
        self._prompts: dict[str, str] = {}
        self._projects = projects_folder(environment(config, options.env))

    # ── beginning and end ────────────────────────────────────────────────────────────────────────────

    async def start(self, wanted: Wanted) -> None:
        """Start the program and wait until it answers, or clean up and say why not."""
        await self._check_room()
        while True:
            try:
                reply = await self._attempt(wanted)
                break
            except _Again:
                continue
        try:
            await self._ready(wanted, reply)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the program and its children. Safe twice."""
        self._talk.let_go()
        await self._pipe.stop()
        with anyio.CancelScope(shield=True):
            await asyncio.wait((self._task,))

    def messages(self) -> AsyncIterator[UnifiedMessage]:
        """Everything, in order, until `session_closed`."""
        return self._talk.messages()

    async def _attempt(self, wanted: Wanted) -> dict[str, Any]:
        """One start, up to the reply to `initialize`."""
        config, folder = self._config, self._options.folder
        transport: Transport = "stdio" if self._quirks.no_sdk_url else config.transport
        secret = self._context.ids.new(40)
        self._run_id = self._context.ids.new(24)
        self._pipe: Pipe = await spawn(
            config, wanted, self._quirks, folder, {**self._options.env, MARK: self._run_id}, secret, transport
        )
        self._translator = Translator(
            self._context.clock.monotonic, str(folder), resumed=bool(wanted.resume) and not wanted.fork
        )
        self._talk = Talk(self._pipe, self._translator, self._context.clock, self._moved)
        self._task = asyncio.create_task(self._run())
        try:
            return await self._talk.request("initialize", config.start_timeout)
        except Silent as error:
            await self.close()
            raise errors.too_slow(config.line, config.start_timeout, errors.tail(self._pipe.stderr)) from error
        except Refused:
            await self.close()
            raise
        except AgentError as error:
            await self.close()
            raise self._why_not(wanted, transport) from error
        except BaseException:
            await self.close()
            raise

    def _why_not(self, wanted: Wanted, transport: Transport) -> Exception:
        """It has ended before it answered: leave something out and try again, or give up with a clear word."""
        words, quirks = errors.tail(self._pipe.stderr), self._quirks
        option = errors.unknown_option(words)
        if transport != "stdio" and (errors.SDK_URL_REFUSED.search(words) or option == "--sdk-url"):
            quirks.no_sdk_url = True
            said = "this version of Claude Code does not connect to a local address (--sdk-url); pipes are used"
            _log.info(said)
            if self._config.transport == "sdk_url":
                fix = "set transport: stdio, which carries everything, or install an older version"
                self._notes.append(bodies.Failure(said, True, "sdk_url_refused", fix))
            return _Again()
        if option and option not in quirks.unknown and option not in self._config.args:
            quirks.unknown.add(option)
            return _Again()
        if wanted.resume and errors.is_gone(words):
            return errors.gone(wanted.resume, self._options.folder, begun_in(wanted.resume, self._projects))
        return errors.not_started(words, self._pipe.returncode, self._config.line)

    async def _ready(self, wanted: Wanted, reply: dict[str, Any]) -> None:
        self._about = requests.initialized(reply)
        if not logged_in(self._about):
            raise errors.login(self._config.command)
        troubles = list(self._notes)
        chosen = {"mode": self._options.mode, "model": self._options.model}
        for what, choose in (("mode", self._choose_mode), ("model", self._choose_model)):
            try:
                if chosen[what]:
                    await choose(chosen[what])
            except AgentError as error:
                chosen[what] = ""
                troubles.append(bodies.Failure(error.message, fix=error.fix))
        self._session = wanted.session
        if not wanted.resume:
            self._memory.opened(wanted.session)
        first = self._translator.opened(wanted.session, self._about, str(self._options.folder), **chosen)
        news = [message for message in first if not isinstance(message.body, _IN_INIT)]
        self._talk.begin([*news, *(UnifiedMessage(trouble) for trouble in troubles)])

    async def _run(self) -> None:
        try:
            async with anyio.create_task_group() as group:
                await self._talk.run(group)
                with anyio.move_on_after(1):
                    await self._pipe.wait()
                group.cancel_scope.cancel()
        except Exception as error:
            _log.error("reading the agent failed", error=repr(error))
        finally:
            # What a quiet agent left running was meant to run on; what was cut off in mid-turn was not.
            at_work = self._translator.turn or self._translator.loose or self._talk.opening
            cut = bool(at_work) or not self._talk.closing
            self._tell_end()
            await self._pipe.stop()
            if cut:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(end_leftovers, self._run_id)

    def _tell_end(self) -> None:
        """The process is gone: say so, and leave nothing open."""
        code, expected = self._pipe.returncode, self._talk.closing
        why, fix = "closed", ""
        if not expected:
            words, fix = errors.ended(errors.tail(self._pipe.stderr))
            why = f"Claude Code has ended{errors.how(code)}{f': {words}' if words else ''}"
        self._talk.emit(self._translator.closed(why, code, expected, fix))
        self._talk.end()

    def _moved(self, session: str) -> None:
        """`/clear` gives the conversation another id."""
        self._memory.moved(self._session, session)
        self._session = session

    # ── what people do ───────────────────────────────────────────────────────────────────────────────

    async def send(self, prompt: Prompt) -> None:
        """Hand over a prompt; returns when the program has taken it."""
        self._check()
        if self._translator.turn:
            raise AgentError("the agent is still busy with an earlier prompt", fix="wait for it, or stop it")
        await self._check_room()
        id, line = await self._line(prompt)
        taking = self._talk.expect(id)
        self._memory.spoken(self._session)
        self._talk.emit(self._translator.prompted(prompt.turn, id))
        self._talk.write(line)
        await self._pipe.drain()
        # Also set when the program has ended; the stream tells that.
        await taking.taken.wait()

    async def steer(self, prompt: Prompt) -> bool:
        """Into the running turn: the program's own queue takes it up after the current step."""
        if self._talk.over or self._talk.closing or not (self._translator.turn or self._translator.loose):
            return False
        id, line = await self._line(prompt)
        turn = self._translator.turn
        if not turn and not self._translator.loose:
            return False
        taking = self._talk.expect(id)
        self._translator.steered(prompt.turn, id)
        self._talk.write(line)
        await self._pipe.drain()
        with anyio.move_on_after(_STEER_SECONDS):
            await taking.received.wait()
            return not taking.dropped
        # A version that tells nothing until it takes the prompt up: it is in the pipe.
        return True

    async def interrupt(self) -> None:
        """Stop the running turn and drop what the program has queued."""
        if self._talk.over or not (self._translator.turn or self._translator.loose):
            return
        self._translator.interrupted()
        with suppress(AgentError):
            await self._talk.request("interrupt", cancel_queued=True)

    async def answer(self, answer: Answer) -> bool:
        """A person's word on an ask. False: it is not open any more."""
        if self._talk.over:
            return False
        found = self._translator.answered(answer)
        if found is None:
            return False
        line, messages = found
        self._talk.emit(messages)
        self._talk.write(line)
        with suppress(AgentError):
            await self._pipe.drain()
        return True

    async def set_mode(self, mode: str) -> None:
        """How freely it may act. To skip every question is possible only where the owner allowed it."""
        await self._choose_mode(mode)
        self._talk.emit(self._translator.changed(mode=mode))

    async def set_model(self, model: str) -> None:
        """Which model answers from now on."""
        await self._choose_model(model)
        self._talk.emit(self._translator.changed(model=model))

    async def set_thinking(self, effort: str) -> None:
        """How much it may think."""
        if effort not in THINKING:
            raise AgentError(f"there is no effort {effort!r}", fix=f"choose one of {', '.join(THINKING)}")
        self._check()
        await self._talk.request("set_max_thinking_tokens", max_thinking_tokens=THINKING[effort])

    async def rewind(self, turn: str) -> None:
        """Take the files back to how they were before that turn's prompt. The conversation stays."""
        self._check()
        prompt = self._prompts.get(turn)
        if prompt is None:
            raise AgentError(
                "the files can only be taken back to a prompt of this run of the agent",
                fix="use git, or ask the agent",
            )
        found = await self._talk.request("rewind_files", user_message_id=prompt)
        if found.get("canRewind") is False:
            raise AgentError(f"the files cannot be taken back: {found.get('error') or 'no reason was given'}")

    def commands(self) -> Sequence[bodies.AgentCommand]:
        """The program's own slash commands."""
        return self._translator.settings.commands

    async def models(self) -> Sequence[bodies.Choice]:
        """The models on offer."""
        return [bodies.Choice(one.value, one.name, one.description) for one in self._about.models]

    async def account(self) -> Mapping[str, str]:
        """Who pays, as far as the program tells."""
        return {key: value for key, value in (self._about.account or {}).items() if isinstance(value, str)}

    async def mcp_servers(self) -> Sequence[bodies.Choice]:
        """The tool servers, each with its state."""
        self._check()
        found = (await self._talk.request("mcp_status")).get("mcpServers")
        servers = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        return [bodies.Choice(str(one.get("name", "")), description=str(one.get("status", ""))) for one in servers]

    async def context_usage(self) -> bodies.ContextUsage:
        """How full its context is."""
        self._check()
        found = await self._talk.request("get_context_usage")
        used, size = found.get("totalTokens"), found.get("maxTokens")
        return bodies.ContextUsage(used if isinstance(used, int) else 0, size if isinstance(size, int) else 0)

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────

    def _check(self) -> None:
        if self._talk.over or self._talk.closing:
            raise AgentError("the agent has ended", fix="open the session again")

    async def _check_room(self) -> None:
        if await anyio.to_thread.run_sync(room_for, self._projects) < ENOUGH:
            raise errors.full(self._projects)

    async def _line(self, prompt: Prompt) -> tuple[str, bytes]:
        id = new_uuid(self._context.ids)
        self._prompts[prompt.turn] = id
        if prompt.files:
            return id, await anyio.to_thread.run_sync(user_line, prompt, id)
        return id, user_line(prompt, id)

    async def _choose_mode(self, mode: str) -> None:
        if mode == BYPASS and not self._config.allow_bypass:
            raise AgentError(
                "skipping all permissions is not allowed here",
                fix="an owner can set allow_bypass: true in this adapter's section",
            )
        self._check()
        await self._talk.request("set_permission_mode", mode=mode)

    async def _choose_model(self, model: str) -> None:
        self._check()
        await self._talk.request("set_model", model=model)


def logged_in(about: requests.Initialized) -> bool:
    """False only where the program says so: other providers have ways of their own."""
    account = about.account or {}
    return not (
        account.get("tokenSource") == "none"
        and not account.get("apiKeySource")
        and account.get("apiProvider", "firstParty") == "firstParty"
    )
