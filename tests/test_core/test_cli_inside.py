"""Parts of the command line that need a hand on the clock, the store or the plugins."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from beambot import cli
from beambot.cli import pair, plugin
from beambot.cli.doctor import checks
from beambot.cli.up import anybody_paired
from beambot.clock import RandomIds, SystemClock
from beambot.config import Config, read
from beambot.errors import AgentMissing, AlreadyRunning, BeambotError, ConfigError, StoreError
from beambot.model.plugins import AdapterSpec, Found, PlatformSpec
from beambot.model.ports import Probe
from beambot.registry import Registry
from beambot.store import MemberRow, Store
from beambot.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "beambot.db", clock) as store:
        yield store


# ── pairing ──────────────────────────────────────────────────────────────────────────────────────────


def test_codes_are_short_and_cannot_be_misread() -> None:
    codes = {pair.new_code() for _ in range(200)}
    assert len(codes) == 200
    assert all(re.fullmatch(r"[A-HJKMNP-Z2-9]{6}", code) for code in codes)


async def claimed(store: Store, clock: FakeClock, name: str, identity: str, role: str | None = None) -> Any:
    number = await store.pairings.create("ABC234", role=role, expires_at=clock.now() + 60)
    assert await store.pairings.attempt("abc-234", "page", identity, name, clock.now()) is not None
    return await store.pairings.get(number)


async def test_whoever_sent_the_code_becomes_a_member(store: Store, clock: FakeClock) -> None:
    row = await claimed(store, clock, "Ann", "7")
    assert await pair.admit(store, row, "approver") == "Ann"
    member = await store.members.find("page", "7")
    assert member is not None
    assert (member.name, member.role, member.source) == ("Ann", "approver", "paired")
    settled = await store.pairings.get(row.id)
    assert settled is not None
    assert settled.state == "granted"
    assert (await store.audit.recent())[0].detail["member"] == "Ann"


async def test_a_stranger_cannot_take_over_a_name(store: Store, clock: FakeClock) -> None:
    await store.members.put(MemberRow("Ann", "owner", {"page": "1"}))
    row = await claimed(store, clock, "Ann\x1b[2J", "7")
    name = await pair.admit(store, row, "observer")
    assert name != "Ann"
    assert name.isprintable()
    first = await store.members.by_name("Ann")
    assert first is not None
    assert (first.role, first.identities) == ("owner", {"page": "1"})


async def test_somebody_who_is_known_keeps_the_name_and_gets_the_role(store: Store, clock: FakeClock) -> None:
    await store.members.put(MemberRow("Ann", "observer", {"page": "7", "chat": "8"}, "paired"))
    row = await claimed(store, clock, "Annie", "7")
    assert await pair.admit(store, row, "approver") == "Ann"
    (member,) = await store.members.all()
    assert (member.role, member.identities) == ("approver", {"page": "7", "chat": "8"})


async def test_waiting_ends_as_soon_as_the_code_was_used(store: Store, clock: FakeClock) -> None:
    number = await store.pairings.create("ABC234", role=None, expires_at=clock.now() + 60)
    seen: list[Any] = []

    async def wait() -> None:
        seen.append(await pair.wait_until_used(store, number, clock))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(0.05)
        await store.pairings.attempt("ABC234", "page", "7", "Ann", clock.now())
        while not seen:
            await clock.advance(1)
            await anyio.sleep(0.01)
    assert (seen[0].state, seen[0].name) == ("claimed", "Ann")


async def test_waiting_ends_when_the_time_is_over(store: Store, clock: FakeClock) -> None:
    number = await store.pairings.create("ABC234", role=None, expires_at=clock.now() - 1)
    row = await pair.wait_until_used(store, number, clock)
    assert row is not None
    assert row.state == "open"


async def test_it_may_start_without_members_when_somebody_was_paired_or_is_being_paired(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    assert not await anybody_paired(path)
    clock = SystemClock()
    async with await Store.open(path, clock) as store:
        await store.members.put(MemberRow("left-over", "owner", {"page": "1"}, "config"))
        assert not await anybody_paired(path)
        await store.pairings.create("ABC234", role=None, expires_at=clock.now() + 60)
        assert await anybody_paired(path)
        await store.pairings.create("ABC235", role=None, expires_at=clock.now() - 1)
        assert not await anybody_paired(path)
        await store.members.put(MemberRow("Ann", "owner", {"page": "7"}, "paired"))
        assert await anybody_paired(path)


# ── plugins' commands and errors ─────────────────────────────────────────────────────────────────────


def test_a_plugin_gets_its_words_and_its_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    got: list[Any] = []

    def command(words: Any, home: Path) -> int:
        got.append((list(words), home))
        return 7

    spec = AdapterSpec(name="toy", summary="s", command=command)
    monkeypatch.setattr(plugin, "Registry", lambda: Registry(adapters=[spec], discover=lambda _group: []))
    monkeypatch.setenv("BEAMBOT_HOME", str(tmp_path))
    assert cli.main(["toy", "--list", "x"]) == 7
    assert got == [(["--list", "x"], tmp_path / "adapters" / "toy")]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError(["a:1: b"]), 2, "the configuration has 1 problem"),
        (StoreError("full", fix="make room"), 3, "fix: make room"),
        (AlreadyRunning("there"), 4, "beambot: there"),
        (ExceptionGroup("g", [ExceptionGroup("h", [AlreadyRunning("inside")])]), 4, "beambot: inside"),
        (ValueError("odd"), 70, "unexpected ValueError: odd"),
        (ExceptionGroup("g", [StoreError("s"), ValueError("odd")]), 70, "beambot: s"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_one_clear_text_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    said: str,
) -> None:
    def fail(_words: Any) -> int:
        raise error

    monkeypatch.setattr(cli, "_dispatch", fail)
    monkeypatch.delenv("BEAMBOT_DEBUG", raising=False)
    assert cli.main([]) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


def test_the_working_folder_leaves_the_search_path_unless_it_is_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours = str(Path(cli.__file__).resolve().parents[2])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), ours, "/nowhere"])
    cli.leave_working_folder()
    assert sys.path == [ours, "/nowhere"]
    monkeypatch.chdir(ours)
    monkeypatch.setattr(sys, "path", ["", "/nowhere"])
    cli.leave_working_folder()
    assert sys.path == [ours, "/nowhere"]


# ── doctor ───────────────────────────────────────────────────────────────────────────────────────────


class Agent:
    """An adapter that answers a probe as it was told to."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def probe(self) -> Probe:
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            await anyio.sleep_forever()
        return self.answer


def house(answer: Any, **more: Any) -> Registry:
    return Registry(
        adapters=[
            AdapterSpec(
                name="toy",
                summary="a toy",
                configure=lambda _section: None,
                create=lambda *_: Agent(answer),
                **more,
            )
        ],
        platforms=[PlatformSpec(name="page", summary="a page", configure=lambda _s: None, create=lambda *_: None)],
        discover=lambda _group: [],
    )


FILE = """
store: {path: b.db}
projects: [{name: shop, path: ., adapter: toy}]
platforms: {page: {}}
members: [{name: me, role: owner, page: local}]
"""


async def examined(folder: Path, registry: Registry, text: str = FILE) -> list[checks.Finding]:
    file = folder / "c.yaml"
    file.write_text(text)
    file.chmod(0o600)
    return await checks.examine(str(file), registry)


def about(findings: list[checks.Finding], area: str) -> list[tuple[str, str]]:
    return [(finding.level, finding.text) for finding in findings if finding.area == area]


async def test_doctor_finds_all_well(tmp_path: Path) -> None:
    findings = await examined(tmp_path, house(Probe(installed=True, version="1.2", logged_in=True)))
    assert {finding.level for finding in findings} == {"ok"}
    assert about(findings, "agent") == [("ok", "toy 1.2")]
    assert about(findings, "people") == [("ok", "me is owner: page local")]
    assert not (tmp_path / "b.db").exists(), "to look is not to make"


@pytest.mark.parametrize(
    ("answer", "level", "said"),
    [
        (Probe(installed=False, fix="get it"), "error", "is not installed"),
        (Probe(installed=True, version="1", logged_in=False), "warn", "not logged in"),
        (AgentMissing("gone", fix="get it"), "error", "toy: gone"),
        (RuntimeError("odd"), "error", "RuntimeError: odd"),
        (None, "error", "said nothing within"),
    ],
)
async def test_doctor_tells_how_an_agent_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: Any, level: str, said: str
) -> None:
    monkeypatch.setattr(checks, "PROBE_SECONDS", 0.05)
    findings = await examined(tmp_path, house(answer))
    (finding,) = [finding for finding in findings if finding.area == "agent"]
    assert finding.level == level
    assert said in finding.text
    assert finding.fix


async def test_doctor_shows_the_line_that_would_use_an_agent_it_found(tmp_path: Path) -> None:
    here = Found(name="other", adapter="toy", settings={"command": "other"}, detail="2.0")
    findings = await examined(tmp_path, house(Probe(installed=True), find=lambda: [here]))
    (finding,) = [finding for finding in findings if "other" in finding.text]
    assert "`other: {type: toy, command: other}`" in finding.fix


async def test_doctor_warns_of_people_who_cannot_be_reached_and_of_no_owner(tmp_path: Path) -> None:
    text = FILE.replace("role: owner, page: local", "role: observer").replace(
        "adapter: toy", "adapter: toy, members: [you]"
    )
    said = " | ".join(
        text for _, text in about(await examined(tmp_path, house(Probe(installed=True)), text), "people")
    )
    assert "me (observer) is on no enabled platform" in said
    assert "there is no owner" in said
    assert "project shop names 'you'" in said


async def test_doctor_says_how_to_pair_when_nobody_may_talk(tmp_path: Path) -> None:
    text = FILE[: FILE.index("members:")]
    findings = await examined(tmp_path, house(Probe(installed=True)), text)
    (finding,) = [finding for finding in findings if finding.area == "people"]
    assert finding.level == "error"
    assert "beambot pair" in finding.fix


async def test_doctor_explains_a_store_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "b.db").write_text("not a database at all, but long enough to look like one")
    ((level, said),) = about(await examined(tmp_path, house(Probe(installed=True))), "store")
    assert level == "error"
    assert "not an SQLite database" in said


async def test_doctor_warns_of_a_configuration_that_others_can_change(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(FILE)
    (tmp_path / "c.yaml").chmod(0o666)
    findings = await checks.examine(str(tmp_path / "c.yaml"), house(Probe(installed=True)))
    assert any("can be changed by other users" in finding.text for finding in findings)


# ── time and chance ──────────────────────────────────────────────────────────────────────────────────


async def test_the_real_clock_moves_and_ids_do_not_repeat() -> None:
    clock, ids = SystemClock(), RandomIds()
    before = clock.monotonic()
    await clock.sleep(-1)
    await clock.sleep(0.001)
    assert clock.monotonic() > before
    assert clock.now() > 1_600_000_000
    made = {ids.new() for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"[a-z2-7]{16}", one) for one in made)
    assert len(ids.new(5)) == 5


def test_a_configuration_from_text_has_no_source(tmp_path: Path) -> None:
    config: Config = read(FILE, "(text)", tmp_path, house(Probe(installed=True)), {})
    assert config.source is None
    with pytest.raises(BeambotError, match=r"\(text\):1"):
        read("x: 1", "(text)", tmp_path, house(Probe(installed=True)), {})
