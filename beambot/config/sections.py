"""The core's own sections: each reads its part, notes what is wrong, and gives a value all the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from beambot.config.section import Section
from beambot.config.source import suggest
from beambot.model.settings import (
    APPROVERS,
    NOTIFY,
    OWNERS,
    PROMPTER,
    ROLES,
    AskPolicy,
    AskSettings,
    Limits,
    Member,
    Project,
    Rendering,
    Role,
    may,
)

_HOURS = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def read_store(section: Section, default: Path) -> Path:
    """Where the database stands."""
    path = section.path_to("path", default) or default
    if path.is_dir():
        section.problem("path", f"{path}, which is a folder", "a file", f"write {path / 'beambot.db'}")
    section.finish()
    return path


def read_projects(
    root: Section, adapters: Iterable[str], members: Sequence[Member] = (), asks: AskSettings | None = None
) -> list[tuple[Section, Project]]:
    """Every project with the section it came from; whether its adapter exists is the caller's question.

    What a project says about its asks stands before what `asks` says for all of them.
    """
    configured = list(adapters)
    only = configured[0] if len(configured) == 1 else ""
    projects: list[tuple[Section, Project]] = []
    before = len(root.source.problems)
    for section in root.sections("projects"):
        name = _name(section, [project.name for _, project in projects])
        path = section.path_to("path")
        if path is None:
            section.problem("path", "nothing", "a folder", "add `path: …`")
        elif not path.is_dir():
            state = "no folder" if path.exists() else "not there"
            section.problem("path", f"{path}, which is {state}", "an existing folder", "create or correct it")
        normal, dangerous = _own_policies(section, members, asks or AskSettings())
        project = Project(
            name=name,
            path=path or Path(),
            adapter=section.text("adapter", only, required=True),
            model=section.text("model"),
            mode=section.text("mode"),
            env=section.mapping("env"),
            members=section.texts("members"),
            normal=normal,
            dangerous=dangerous,
        )
        section.finish()
        projects.append((section, project))
    if not projects and len(root.source.problems) == before:
        fix = "add `projects:` with one entry: `- {name: …, path: …, adapter: …}`"
        root.problem("projects", "none", "one project or more", fix)
    return projects


def read_members(root: Section, platforms: Iterable[str]) -> tuple[Member, ...]:
    """Who may talk to beambot. Every key that is not `name` or `role` is a platform's name."""
    known = list(platforms)
    members: list[Member] = []
    taken: dict[tuple[str, str], str] = {}
    for section in root.sections("members"):
        name = _name(section, [member.name for member in members], spaces=True)
        if not section.has("role"):
            section.problem("role", "nothing", ", ".join(ROLES), "add `role: …`")
        role = cast(Role, section.choice("role", ROLES, ROLES[0]))
        identities: dict[str, str] = {}
        for key in section.names():
            if key in ("name", "role"):
                continue
            if key not in known:
                fix = suggest(key, ["name", "role", *known], "remove it, or install that platform")
                allowed = ", ".join(["name", "role", *known])
                section.problem(key, "neither a key nor a platform", allowed, fix)
            if not (identity := section.identity(key)):
                continue
            if other := taken.get((key, identity)):
                section.problem(key, f"the identity of {other!r}", "one person an identity", "remove one")
            taken[key, identity] = name
            identities[key] = identity
        section.finish()
        members.append(Member(name=name, role=role, identities=identities))
    return tuple(members)


def read_rendering(section: Section) -> Rendering:
    """How much is shown."""
    plain = Rendering()
    read = Rendering(
        tool_lines=section.integer("tool_lines", plain.tool_lines, maximum=20),
        thinking=section.choice("thinking", ("fold", "hide"), plain.thinking),  # type: ignore[arg-type]
        footer=section.choice("footer", ("quiet", "full", "off"), plain.footer),  # type: ignore[arg-type]
        file_above=section.integer("file_above", plain.file_above, maximum=10_000_000),
        notify=section.choice("notify", NOTIFY, plain.notify),  # type: ignore[arg-type]
        notify_after_seconds=section.seconds("notify_after", plain.notify_after_seconds),
    )
    section.finish()
    return read


def read_asks(section: Section, members: Sequence[Member]) -> AskSettings:
    """What happens while an ask waits, and who may answer."""
    plain = AskSettings()
    normal = _policy(section, members, plain.normal)
    read = AskSettings(
        on_timeout=section.choice("on_timeout", ("wait", "deny"), plain.on_timeout),  # type: ignore[arg-type]
        timeout_seconds=section.seconds("timeout", plain.timeout_seconds),
        remind_after_seconds=section.seconds("remind_after", plain.remind_after_seconds),
        normal=normal,
        dangerous=_policy_in(section.section("dangerous"), members, normal),
        quiet_hours=_hours(section, "quiet_hours"),
    )
    section.finish()
    return read


def _own_policies(
    section: Section, members: Sequence[Member], everywhere: AskSettings
) -> tuple[AskPolicy | None, AskPolicy | None]:
    if not section.has("asks"):
        return None, None
    own = section.section("asks")
    normal = _policy(own, members, everywhere.normal)
    # Whoever asks more of the dangerous everywhere does not lose it to a project that says nothing about it.
    default = normal if everywhere.dangerous == everywhere.normal else everywhere.dangerous
    dangerous = _policy_in(own.section("dangerous"), members, default)
    own.finish()
    inside = section.texts("members")
    for name in dict.fromkeys((*normal.who, *dangerous.who)):
        if inside and name not in (APPROVERS, OWNERS, PROMPTER, *inside):
            fix = "add them to `members`, or name somebody who is there"
            section.problem("asks", f"{name!r}, who may not use this project", "members of the project", fix)
    return normal, dangerous


def _policy_in(section: Section, members: Sequence[Member], default: AskPolicy) -> AskPolicy:
    read = _policy(section, members, default)
    section.finish()
    return read


def _policy(section: Section, members: Sequence[Member], default: AskPolicy) -> AskPolicy:
    """Who may answer. A name that nobody has, or that may not answer, would lock everybody out."""
    who = tuple(dict.fromkeys(section.texts("who"))) or default.who
    people = section.integer("people", default.people, minimum=1, maximum=10)
    allowed = f"{APPROVERS}, {OWNERS}, {PROMPTER}, or names of members"
    if section.has("who") and not section.texts("who"):
        section.problem("who", "an empty list", allowed, "leave it out for all approvers")
    known = {member.name: member for member in members}
    named = [name for name in who if name not in (APPROVERS, OWNERS, PROMPTER)]
    for name in named:
        if name not in known:
            section.problem("who", repr(name), allowed, suggest(name, list(known), "name a member of this file"))
        elif not may(known[name].role, "approver"):
            found = f"{name!r}, who is {known[name].role}"
            section.problem("who", found, "approvers and owners", f"make {name} an approver, or name somebody else")
    if APPROVERS not in who and OWNERS not in who and len(who) < people:
        section.problem("people", str(people), f"at most {len(who)}", f"name {people} people under who: {named}")
    return AskPolicy(who=who, people=people)


def _hours(section: Section, key: str) -> tuple[int, int] | None:
    """`22:00-07:00` as minutes of the day."""
    text = section.text(key)
    if not text:
        return None
    found = _HOURS.fullmatch(text)
    minutes = [int(part) for part in found.groups()] if found else []
    if not minutes or max(minutes[0], minutes[2]) > 23 or max(minutes[1], minutes[3]) > 59:
        section.problem(key, repr(text), "two times of the day", "write it like 22:00-07:00")
        return None
    return minutes[0] * 60 + minutes[1], minutes[2] * 60 + minutes[3]


def read_limits(section: Section) -> Limits:
    """Bounds."""
    plain = Limits()
    read = Limits(
        queue_per_session=section.integer("queue_per_session", plain.queue_per_session, minimum=1, maximum=1000),
        idle_close_seconds=section.seconds("idle_close", plain.idle_close_seconds),
        restarts=section.integer("restarts", plain.restarts, maximum=100),
        restart_window_seconds=section.seconds("restart_window", plain.restart_window_seconds),
        stop_grace_seconds=section.seconds("stop_grace", plain.stop_grace_seconds),
        sessions=section.integer("sessions", plain.sessions, minimum=1, maximum=10_000),
    )
    section.finish()
    return read


def _name(section: Section, taken: Iterable[str], *, spaces: bool = False) -> str:
    name = section.text("name", required=True)
    if name in taken:
        section.problem("name", f"{name!r} again", "a name of its own", "rename one of them")
    elif name and spaces and (len(name) > 64 or not name.isprintable()):
        section.problem("name", repr(name[:64]), "at most 64 printable characters", "shorten it")
    elif name and not spaces and not _NAME.fullmatch(name):
        fix = "use letters, digits, dots and dashes, without spaces"
        section.problem("name", repr(name[:64]), "a name that can be typed in a chat", fix)
    return name
