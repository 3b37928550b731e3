"""The core's own sections: each reads its part, notes what is wrong, and gives a value all the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from beambot.config.section import Section
from beambot.config.source import suggest
from beambot.model.settings import ROLES, AskSettings, Limits, Member, Project, Rendering, Role

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def read_store(section: Section, default: Path) -> Path:
    """Where the database stands."""
    path = section.path_to("path", default) or default
    if path.is_dir():
        section.problem("path", f"{path}, which is a folder", "a file", f"write {path / 'beambot.db'}")
    section.finish()
    return path


def read_projects(root: Section, adapters: Iterable[str]) -> list[tuple[Section, Project]]:
    """Every project with the section it came from; whether its adapter exists is the caller's question."""
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
        project = Project(
            name=name,
            path=path or Path(),
            adapter=section.text("adapter", only, required=True),
            model=section.text("model"),
            mode=section.text("mode"),
            env=section.mapping("env"),
            members=section.texts("members"),
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
    )
    section.finish()
    return read


def read_asks(section: Section) -> AskSettings:
    """What happens while an ask waits."""
    plain = AskSettings()
    read = AskSettings(
        on_timeout=section.choice("on_timeout", ("wait", "deny"), plain.on_timeout),  # type: ignore[arg-type]
        timeout_seconds=section.seconds("timeout", plain.timeout_seconds),
        remind_after_seconds=section.seconds("remind_after", plain.remind_after_seconds),
    )
    section.finish()
    return read


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
