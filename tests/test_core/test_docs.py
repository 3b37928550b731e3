"""The documents are true: what they name exists, and what the code lists they list."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from adapters.acp import KNOWN
from adapters.demo.script import WORDS
from beambot.cli.parser import COMMANDS
from beambot.config import read
from beambot.flow.commands.agents import TABLE
from beambot.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
CODE = ("beambot", "adapters", "platforms")
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)(?:::(\w+))?`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
LEFT_OUT = {".venv", ".git", "__pycache__", "dist", "build", "node_modules"}
CACHES = re.compile(r"\.\w+_cache|\.hypothesis|.*\.egg-info|\.beambot")


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    part = re.split(r"^#+ ", text.split(f"\n## {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@cache
def defined(file: Path) -> dict[str, set[str]]:
    """Tests and classes of a file, and the tests inside each class."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            inside = [part.name for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
            found[node.name] = {name for name in inside if name.startswith("test_")}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            found[node.name] = set()
    return found


def anchors(document: Path) -> set[str]:
    """The names under which headings can be linked to."""
    heads = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_invariant_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8")
    named = NAMED.findall(text)
    missing = [
        f"{file}::{name}::{inner}".removesuffix("::")
        for file, name, inner in named
        if not (ROOT / file).is_file()
        or name not in defined(ROOT / file)
        or (inner and inner not in defined(ROOT / file)[name])
    ]
    assert len(named) > 50
    assert len(re.findall(r"`[^`\n]*::[^`\n]*`", text)) == len(named) + text.count("`file::name`")
    assert missing == []


def test_invariants_are_numbered_without_a_gap_and_each_has_a_test() -> None:
    text = (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert [part.split(".", 1)[0] for part in parts] == [str(number) for number in range(1, len(parts) + 1)]
    assert [part.splitlines()[0] for part in parts if not NAMED.search(part)] == []


def test_the_table_of_commands_is_the_one_in_the_code() -> None:
    in_code = [[f"`{f'/{c.name} {c.args}'.strip()}`", c.role, c.help] for c in TABLE.listed()]
    assert rows(README, "Commands in the chat") == in_code


def test_the_readme_lists_every_word_of_the_command_line() -> None:
    listed = [cells[0] for cells in rows(README, "Commands in the terminal")]
    for name in (*COMMANDS, *Registry().commands()):
        assert any(re.match(rf"`beambot {name}\b", cell) for cell in listed), name


def test_the_readme_lists_the_words_of_the_demo_agent_and_the_agents_that_are_found() -> None:
    words = [cells[0].strip("`") for cells in rows(README, "What you can do in the page")]
    assert words == list(WORDS)
    assert [command for _, command, _ in KNOWN if f"`{command}`" not in README] == []


def test_the_configuration_in_the_readme_works(tmp_path: Path) -> None:
    (sample,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert "~/src/shop" in sample
    config = read(
        sample.replace("~/src/shop", str(tmp_path)), "README", tmp_path, Registry(), {"HOME": str(tmp_path)}
    )
    assert config.adapters["mine"].settings.command == "my-agent"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for link in LINK.findall(document.read_text(encoding="utf-8")):
        if link.startswith(("https://", "http://")):
            continue
        file, _, anchor = link.partition("#")
        target = (document.parent / file).resolve() if file else document
        assert target.exists(), f"{document.name} links to {link}"
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), f"{document.name} links to {link}"


def test_the_module_map_names_every_folder_and_only_what_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = {
        cells[0].strip("`"): re.findall(r"`([\w/]+(?:\.\w+|/))`", cells[1]) for cells in rows(text, "Module map")
    }
    packages = {f"{path.parent.relative_to(ROOT)}/" for top in CODE for path in (ROOT / top).rglob("__init__.py")}
    # The two shelves hold nothing but the folders on them.
    assert packages - set(folders) == {"adapters/", "platforms/"}
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
    assert [
        f"{folder}{name}" for folder in folders for name in folders[folder] if not (ROOT / folder / name).exists()
    ] == []


def test_every_file_that_the_documents_name_exists() -> None:
    wanted = re.compile(rf"`((?:{'|'.join(CODE)}|tests|benchmarks|docs)/[\w/.]*\.\w+)`")
    missing = [
        f"{document.name}: {name}"
        for document in DOCUMENTS
        for name in wanted.findall(document.read_text(encoding="utf-8"))
        if not (ROOT / name).is_file()
    ]
    assert missing == []


def test_every_table_of_the_store_is_described() -> None:
    from beambot.store.migrations import TABLES

    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    described = {name for cells in rows(text, "Where state lives") for name in re.findall(r"`(\w+)`", cells[0])}
    assert described == {*TABLES, "schema_version"}


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for heading, wanted in (("At run time", project["dependencies"]), ("For development", extras["dev"])):
        explained = [cells[0].strip("`") for cells in rows(text, heading)]
        assert sorted(explained) == sorted(re.split(r"[<>=]", one)[0] for one in wanted)


def test_no_file_knows_this_machine() -> None:
    machine = re.compile(rf"(?<![\w.])/(?:{'|'.join(['work', 'root'])})/")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files(ROOT)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if machine.search(line)
    ]
    assert found == []


def files(folder: Path) -> list[Path]:
    """What belongs to the project, but for fixtures: those were recorded elsewhere."""
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_OUT or CACHES.fullmatch(path.name) or path == ROOT / "tests" / "fixtures":
            continue
        if path.is_dir():
            found += files(path)
        elif path.suffix not in (".png", ".pyc") and path != ROOT / "benchmarks" / "results.json":
            found.append(path)
    return found
