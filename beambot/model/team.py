"""What an agent team is made of, as the messages of a stream tell it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from beambot.model.bodies import Body

TaskStatus = Literal["pending", "in_progress", "completed", "deleted"]
TeammateStatus = Literal["active", "idle", "shutdown"]


class Teammate(Struct, frozen=True):
    """One agent of a team."""

    name: str
    agent: str = ""
    role: Literal["lead", "teammate"] = "teammate"
    status: TeammateStatus = "active"


class TeamTask(Struct, frozen=True):
    """One piece of a team's work."""

    id: str
    subject: str
    status: TaskStatus = "pending"
    owner: str = ""
    blocked_by: tuple[str, ...] = ()


class TeamMessage(Body, frozen=True, tag="team_message"):
    """One agent of a team wrote to another."""

    tool: str
    sender: str
    to: str
    text: str
    summary: str = ""


class TeamTaskUpdate(Body, frozen=True, tag="team_task_update"):
    """A task of a team was made or changed."""

    tool: str
    task: TeamTask
    was: TaskStatus | None = None


class TeamStateChange(Body, frozen=True, tag="team_state_change"):
    """A team began, ended, or its members changed."""

    tool: str
    team: str
    change: Literal["created", "deleted", "joined", "idle", "active", "shutdown"]
    member: Teammate | None = None


class TaskNotification(Body, frozen=True, tag="task_notification"):
    """A background task of the agent began, moved on or ended."""

    task: str
    status: str
    text: str = ""
    tool: str = ""
