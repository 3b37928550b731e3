"""One conversation through the vendor's client: its process, from start to end, and what people do with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, ResultError
from claude_agent_sdk.types import HookEvent, PermissionMode

from adapters.agent_sdk.process import errors
from adapters.agent_sdk.process.earlier import Memory, begun_in
from adapters.agent_sdk.process.program import (
    BYPASS,
    MARK,
    SdkConfig,
    Wanted,
    argv,
    end_leftovers,
    environment,
    new_uuid,
)
from adapters.agent_sdk.process.prompt import alone, user_message
from adapters.agent_sdk.process.transport import Pipe
from adapters.agent_sdk.reading.news import dicts_of, text_of
from adapters.agent_sdk.talk import Talk
from adapters.agent_sdk.translate import Translator
from beambot.api import (
    AgentError,
    Answer,
    OpenOptions,
    PluginContext,
    Prompt,
    UnifiedMessage,
    bodies,
    get_logger,
)

# How much the model may think, by the word that people say.
THINKING = {"low": 4_000, "medium": 8_000, "high": 16_000, "max": 32_000}
_STEER_SECONDS = 2.0
_REPLY_SECONDS = 30.0
_log = get_logger("agent_sdk")
_T = TypeVar("_T")
# What the client logs as an error is the end of the program, also where that was wanted; the stream tells it.
logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL)


class AgentSdkSession:
    """One client and one process for one session: a crash takes nobody else along."""

    def __init__(self, config: SdkConfig, options: OpenOptions, context: PluginContext, memory: Memory) -> None:
        self._config = config
        self._options = options
        self._context = context
        self._memory = memory
        self._session = ""
        self._about: dict[str, Any] = {}
        self._prompts: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    # ── beginning and end ────────────────────────────────────────────────────────────────────────────

    async def start(self, wanted: Wanted) -> None:
        """Start the program and wait until it answers, or clean up and say why not."""
        config, folder = self._config, self._options.folder
        self._run_id = self._context.ids.new(24)
        words = argv(config, wanted)
        self._command = words[0]
        self._env = environment(config, {**self._options.env, MARK: self._run_id})
        self._pipe = Pipe(words, folder, self._env)
        resumed = bool(wanted.resume) and not wanted.fork
        self._translator = Translator(self._context.clock.monotonic, str(folder), resumed)
        self._talk = Talk(self._translator, self._context.clock, self._context.ids)
        options = ClaudeAgentOptions(
            can_use_tool=self._talk.may,
            hooks={
                cast("HookEvent", event): [HookMatcher(hooks=[partial(self._talk.hook, event)])]
                for event in config.hooks
            },
            forward_subagent_text=True,
        )
        self._client = ClaudeSDKClient(options, transport=self._pipe)
        try:
            await self._connect(wanted)
            await self._ready(wanted)
        except BaseException:
            await self._let_go(cut=True)
            raise
        self._task = asyncio.create_task(self._run())

    async def _connect(self, wanted: Wanted) -> None:
        seconds = self._config.start_timeout
        try:
            with anyio.fail_after(seconds):
                await self._client.connect()
        except TimeoutError as error:
            raise errors.too_slow(self._command, seconds, errors.tail(self._pipe.stderr)) from error
        except AgentError:
            raise
        except Exception as error:
            # Some versions say on standard output why they do not start; the client keeps it as a failed result.
            told = error.errors if isinstance(error, ResultError) else []
            said = "\n".join([*told, errors.tail(self._pipe.stderr)]).strip()
            if wanted.resume and errors.is_gone(said):
                elsewhere = await begun_in(wanted.resume, self._env)
                raise errors.gone(wanted.resume, self._options.folder, elsewhere) from error
            raise errors.not_started(said or str(error), self._pipe.returncode, self._command) from error

    async def _ready(self, wanted: Wanted) -> None:
        self._about = await self._client.get_server_info() or {}
        if not logged_in(self._about):
            raise errors.login(self._command)
        troubles: list[bodies.Failure] = []
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
        self._talk.begin([*first, *(UnifiedMessage(trouble) for trouble in troubles)])

    async def _run(self) -> None:
        try:
            await self._talk.run(self._client)
        except Exception as error:
            _log.error("reading the agent failed", error=repr(error))
        finally:
            # What a quiet agent left running was meant to run on; what was cut off in mid-turn was not.
            cut = self._translator.running or not self._talk.closing
            with anyio.CancelScope(shield=True):
                await self._pipe.close()
                self._tell_end()
                await self._let_go(cut)

    def _tell_end(self) -> None:
        """The process is gone: say so, and leave nothing open."""
        self._follow_id()
        code, expected = self._pipe.returncode, self._talk.closing
        why, fix = "closed", ""
        if not expected:
            words, fix = errors.ended(errors.tail(self._pipe.stderr))
            why = f"Claude Code has ended{errors.how(code)}{f': {words}' if words else ''}"
        self._talk.end(self._translator.closed(why, code, expected, fix))

    async def _let_go(self, cut: bool) -> None:
        with anyio.CancelScope(shield=True):
            await self._client.disconnect()
            await self._pipe.close()
            if cut:
                await anyio.to_thread.run_sync(end_leftovers, self._run_id)

    async def close(self) -> None:
        """End the program and its children. Safe twice."""
        self._talk.let_go()
        await self._pipe.close()
        if self._task is not None:
            with anyio.CancelScope(shield=True):
                await asyncio.wait((self._task,))

    def messages(self) -> AsyncIterator[UnifiedMessage]:
        """Everything, in order, until `session_closed`."""
        return self._talk.messages()

    # ── what people do ───────────────────────────────────────────────────────────────────────────────

    async def send(self, prompt: Prompt) -> None:
        """Hand over a prompt; returns when the program has taken it."""
        self._check()
        if self._translator.turn:
            raise AgentError("the agent is still busy with an earlier prompt", fix="wait for it, or stop it")
        id, message = await self._message(prompt)
        taken = self._talk.expect(id)
        self._follow_id()
        self._memory.spoken(self._session)
        self._talk.emit(self._translator.prompted(prompt.turn, id))
        await self._do("the prompt", self._client.query(alone(message)))
        # Also set when the program has ended; the stream tells that.
        await taken.wait()
        self._follow_id()

    async def steer(self, prompt: Prompt) -> bool:
        """Into the running turn: the program's own queue takes it up after the current step."""
        if not self._at_work():
            return False
        id, message = await self._message(prompt)
        if not self._at_work():
            return False
        received = self._talk.expect(f"queued {id}", id)
        self._translator.steered(prompt.turn, id)
        await self._do("the prompt", self._client.query(alone(message)))
        # A version that tells nothing until it takes the prompt up: it is in the pipe.
        with anyio.move_on_after(_STEER_SECONDS):
            await received.wait()
        return not self._talk.over

    async def interrupt(self) -> None:
        """Stop the running turn and drop what the program has queued."""
        if not self._at_work():
            return
        self._translator.interrupted()
        with suppress(AgentError):
            # The client's own call would leave queued prompts to run on.
            await self._do("interrupt", self._pipe.request("interrupt", cancel_queued=True))

    async def answer(self, answer: Answer) -> bool:
        """A person's word on an ask. False: it is not open any more."""
        return not self._talk.over and self._talk.answered(answer)

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
        what = "set_max_thinking_tokens"
        await self._do(what, self._pipe.request(what, max_thinking_tokens=THINKING[effort]))

    async def rewind(self, turn: str) -> None:
        """Take the files back to how they were before that turn's prompt. The conversation stays."""
        self._check()
        prompt = self._prompts.get(turn)
        if prompt is None:
            raise AgentError(
                "the files can only be taken back to a prompt of this run of the agent",
                fix="use git, or ask the agent",
            )
        found = await self._do("rewind_files", self._pipe.request("rewind_files", user_message_id=prompt))
        if found.get("canRewind") is False:
            raise AgentError(f"the files cannot be taken back: {found.get('error') or 'no reason was given'}")

    def commands(self) -> Sequence[bodies.AgentCommand]:
        """The program's own slash commands."""
        return self._translator.settings.commands

    async def models(self) -> Sequence[bodies.Choice]:
        """The models on offer."""
        return self._translator.settings.models

    async def account(self) -> Mapping[str, str]:
        """Who pays, as far as the program tells."""
        return {key: value for key, value in _account(self._about).items() if isinstance(value, str)}

    async def mcp_servers(self) -> Sequence[bodies.Choice]:
        """The tool servers, each with its state."""
        self._check()
        found = dict(await self._do("mcp_status", self._client.get_mcp_status()))
        servers = dicts_of(found, "mcpServers")
        return [bodies.Choice(text_of(one, "name"), description=text_of(one, "status")) for one in servers]

    async def context_usage(self) -> bodies.ContextUsage:
        """How full its context is."""
        self._check()
        found = dict(await self._do("get_context_usage", self._client.get_context_usage()))
        used, size = found.get("totalTokens"), found.get("maxTokens")
        return bodies.ContextUsage(used if isinstance(used, int) else 0, size if isinstance(size, int) else 0)

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────

    def _check(self) -> None:
        if self._talk.over or self._talk.closing:
            raise AgentError("the agent has ended", fix="open the session again")

    def _at_work(self) -> bool:
        return self._translator.running and not (self._talk.over or self._talk.closing)

    def _follow_id(self) -> None:
        """`/clear` gives the conversation another id."""
        now = self._translator.session
        if now and now != self._session:
            self._memory.moved(self._session, now)
            self._session = now

    async def _do(self, what: str, doing: Awaitable[_T]) -> _T:
        """One call of the client, which raises plain exceptions, as one that raises `AgentError`."""
        try:
            with anyio.fail_after(_REPLY_SECONDS):
                return await doing
        except TimeoutError as error:
            words = f"Claude Code did not answer {what} within {_REPLY_SECONDS:g} s"
            raise AgentError(words, fix="stop the turn, or end the session and resume it") from error
        except Exception as error:
            if self._talk.over or self._pipe.returncode is not None:
                raise AgentError("the agent has ended", fix="open the session again") from error
            raise AgentError(f"Claude Code refused {what}: {error}") from error

    async def _message(self, prompt: Prompt) -> tuple[str, dict[str, Any]]:
        id = self._prompts[prompt.turn] = new_uuid(self._context.ids)
        if prompt.files:
            return id, await anyio.to_thread.run_sync(user_message, prompt, id)
        return id, user_message(prompt, id)

    async def _choose_mode(self, mode: str) -> None:
        if mode == BYPASS and not self._config.allow_bypass:
            raise AgentError(
                "skipping all permissions is not allowed here",
                fix="an owner can set allow_bypass: true in this adapter's section",
            )
        self._check()
        await self._do("set_permission_mode", self._client.set_permission_mode(cast("PermissionMode", mode)))

    async def _choose_model(self, model: str) -> None:
        self._check()
        await self._do("set_model", self._client.set_model(model))


def _account(about: dict[str, Any]) -> dict[str, Any]:
    found = about.get("account")
    return found if isinstance(found, dict) else {}


def logged_in(about: dict[str, Any]) -> bool:
    """False only where the program says so: other providers have ways of their own."""
    account = _account(about)
    return not (
        account.get("tokenSource") == "none"
        and not account.get("apiKeySource")
        and account.get("apiProvider", "firstParty") == "firstParty"
    )
