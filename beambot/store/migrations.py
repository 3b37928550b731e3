"""The shape of the database, as an append-only list of numbered steps. A released step never changes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from beambot.errors import StoreTooNew
from beambot.store.files import corrupt

APPLICATION_ID = 0x6265616D  # "beam": tells our file from any other SQLite database

_STEP_1 = (
    "CREATE TABLE schema_version (version INTEGER NOT NULL, at DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE members (name TEXT PRIMARY KEY, role TEXT NOT NULL, source TEXT NOT NULL,"
    " added_at DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE identities (platform TEXT NOT NULL, identity TEXT NOT NULL,"
    " member TEXT NOT NULL REFERENCES members (name) ON DELETE CASCADE, source TEXT NOT NULL,"
    " PRIMARY KEY (platform, identity), UNIQUE (member, platform))",
    "CREATE TABLE pairings (id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL, salt BLOB NOT NULL,"
    " code BLOB NOT NULL, tries INTEGER NOT NULL, role TEXT, platform TEXT NOT NULL, identity TEXT NOT NULL,"
    " name TEXT NOT NULL, expires_at DOUBLE PRECISION NOT NULL, claimed_at DOUBLE PRECISION)",
    "CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at DOUBLE PRECISION NOT NULL,"
    " what TEXT NOT NULL, who TEXT NOT NULL, detail BLOB NOT NULL)",
    "CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit"
    " BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END",
    "CREATE TRIGGER audit_keeps_words BEFORE UPDATE ON audit"
    " BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END",
    "CREATE TABLE projects (name TEXT PRIMARY KEY, path TEXT NOT NULL)",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, adapter TEXT NOT NULL,"
    " folder TEXT NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL, agent_session TEXT NOT NULL,"
    " model TEXT NOT NULL, mode TEXT NOT NULL, created_by TEXT NOT NULL,"
    " created_at DOUBLE PRECISION NOT NULL, used_at DOUBLE PRECISION NOT NULL)",
    "CREATE INDEX sessions_used ON sessions (used_at, created_at)",
    "CREATE TABLE threads (platform TEXT NOT NULL, chat TEXT NOT NULL, thread TEXT NOT NULL,"
    " session TEXT REFERENCES sessions (id) ON DELETE SET NULL, title TEXT NOT NULL,"
    " private INTEGER NOT NULL, parked TEXT NOT NULL, created_at DOUBLE PRECISION NOT NULL,"
    " PRIMARY KEY (platform, chat, thread))",
    "CREATE INDEX threads_session ON threads (session)",
    "CREATE TABLE turns (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
    " session TEXT NOT NULL REFERENCES sessions (id), origin TEXT NOT NULL, state TEXT NOT NULL,"
    " text TEXT NOT NULL, files BLOB NOT NULL, member TEXT NOT NULL, platform TEXT, chat TEXT, thread TEXT,"
    " message TEXT NOT NULL, note TEXT NOT NULL, created_at DOUBLE PRECISION NOT NULL,"
    " started_at DOUBLE PRECISION, ended_at DOUBLE PRECISION)",
    "CREATE INDEX turns_session ON turns (session, n)",
    "CREATE INDEX turns_message ON turns (platform, chat, thread, message)",
    "CREATE INDEX turns_unfinished ON turns (n) WHERE state IN ('queued', 'handed', 'running')",
    "CREATE TABLE inbox (id INTEGER PRIMARY KEY AUTOINCREMENT, platform TEXT NOT NULL,"
    " update_id TEXT NOT NULL, chat TEXT NOT NULL, thread TEXT NOT NULL, message TEXT, payload BLOB NOT NULL,"
    " state TEXT NOT NULL, note TEXT NOT NULL, received_at DOUBLE PRECISION NOT NULL,"
    " done_at DOUBLE PRECISION, UNIQUE (platform, update_id))",
    "CREATE INDEX inbox_pending ON inbox (id) WHERE state = 'pending'",
    "CREATE INDEX inbox_message ON inbox (platform, chat, thread, message)",
    "CREATE TABLE journal (session TEXT NOT NULL REFERENCES sessions (id), seq INTEGER NOT NULL,"
    " turn TEXT NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (session, seq))",
    "CREATE INDEX journal_turn ON journal (session, turn, seq)",
    "CREATE TABLE asks (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
    " session TEXT NOT NULL REFERENCES sessions (id), turn TEXT NOT NULL, agent_ask TEXT NOT NULL,"
    " kind TEXT NOT NULL, body BLOB NOT NULL, state TEXT NOT NULL, outcome TEXT NOT NULL,"
    " answer BLOB NOT NULL, by_member TEXT NOT NULL, note TEXT NOT NULL,"
    " created_at DOUBLE PRECISION NOT NULL, settled_at DOUBLE PRECISION)",
    "CREATE INDEX asks_agent ON asks (session, agent_ask)",
    "CREATE INDEX asks_open ON asks (n) WHERE state = 'open'",
    "CREATE TABLE outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, platform TEXT NOT NULL, chat TEXT NOT NULL,"
    " thread TEXT NOT NULL, key TEXT NOT NULL, payload BLOB NOT NULL, hash TEXT NOT NULL,"
    " priority INTEGER NOT NULL, attempts INTEGER NOT NULL, uncertain INTEGER NOT NULL,"
    " created_at DOUBLE PRECISION NOT NULL, UNIQUE (platform, chat, thread, key))",
    "CREATE TABLE shown (platform TEXT NOT NULL, chat TEXT NOT NULL, thread TEXT NOT NULL,"
    " key TEXT NOT NULL, message TEXT NOT NULL, hash TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,"
    " PRIMARY KEY (platform, chat, thread, key))",
    "CREATE INDEX shown_message ON shown (platform, chat, thread, message)",
    "CREATE TABLE freezes (scope TEXT PRIMARY KEY, until DOUBLE PRECISION NOT NULL)",
)

_STEP_2 = (
    "ALTER TABLE shown ADD COLUMN page_start TEXT NOT NULL DEFAULT ''",
    "CREATE TABLE preferences (member TEXT NOT NULL REFERENCES members (name) ON DELETE CASCADE,"
    " name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (member, name))",
)

_STEP_3 = (
    "ALTER TABLE audit ADD COLUMN chain TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE asks ADD COLUMN digest TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE asks ADD COLUMN risks TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE asks ADD COLUMN may_answer TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE asks ADD COLUMN until DOUBLE PRECISION",
    "ALTER TABLE asks ADD COLUMN reminded_at DOUBLE PRECISION",
    "CREATE TABLE rules (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, allow INTEGER NOT NULL,"
    " scope TEXT NOT NULL, tool TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, folder TEXT NOT NULL,"
    " words TEXT NOT NULL, project TEXT NOT NULL,"
    " session TEXT NOT NULL, turn TEXT NOT NULL, until DOUBLE PRECISION, made_by TEXT NOT NULL,"
    " made_at DOUBLE PRECISION NOT NULL, used_at DOUBLE PRECISION, used_for TEXT NOT NULL,"
    " revoked_by TEXT NOT NULL, revoked_at DOUBLE PRECISION)",
    "CREATE TABLE votes (ask TEXT NOT NULL REFERENCES asks (id), member TEXT NOT NULL, answer BLOB NOT NULL,"
    " at DOUBLE PRECISION NOT NULL, PRIMARY KEY (ask, member))",
)

_STEP_4 = (
    # An answer that somebody has begun: an edited request, or the first of several questions.
    "CREATE TABLE drafts (ask TEXT PRIMARY KEY REFERENCES asks (id), content BLOB NOT NULL,"
    " at DOUBLE PRECISION NOT NULL)",
)

STEPS: list[tuple[str, ...]] = [_STEP_1, _STEP_2, _STEP_3, _STEP_4]
TABLES = (
    "members",
    "identities",
    "preferences",
    "pairings",
    "audit",
    "projects",
    "sessions",
    "threads",
    "turns",
    "inbox",
    "journal",
    "asks",
    "votes",
    "drafts",
    "rules",
    "outbox",
    "shown",
    "freezes",
)


def recognise(conn: sqlite3.Connection, path: Path) -> int:
    """Which version this database has; 0 when it is empty. Cheap: it reads the first pages only.

    SQLite itself compares the length of the file with its header here, so a truncated one is noticed.
    """
    (tables,) = conn.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        return 0
    if conn.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise corrupt(path, "it is a database of another program")
    version = _version(conn)
    if version < 1:
        raise corrupt(path, "it does not say which version it has")
    if version > len(STEPS):
        raise StoreTooNew(
            f"the database {path} has version {version}; this beambot knows versions up to {len(STEPS)}",
            fix="run the newer beambot that wrote it, or restore a backup from before the upgrade",
        )
    return version


def _version(conn: sqlite3.Connection) -> int:
    if not conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchall():
        return 0
    (version,) = conn.execute("SELECT max(version) FROM schema_version").fetchone()
    return version if isinstance(version, int) else 0


def inspect(conn: sqlite3.Connection, path: Path) -> None:
    """Is every table there, with a first page that can be read? Its cost does not grow with the rows."""
    found = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    missing = [name for name in TABLES if name not in found]
    if missing:
        raise corrupt(path, f"it has no table {', '.join(missing)}")
    for name in TABLES:
        conn.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall()  # noqa: S608 names of tables


def migrate(conn: sqlite3.Connection, path: Path, now: float) -> None:
    """Every missing step, or none. Also proves that the database can be written."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        version = recognise(conn, path)
        for number, statements in enumerate(STEPS[version:], start=version + 1):
            if number == 1:
                conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for statement in statements:
                conn.execute(statement)
            conn.execute("INSERT INTO schema_version (version, at) VALUES (?, ?)", (number, now))
        conn.execute("COMMIT")
    except BaseException:
        conn.rollback()
        raise
