"""The shape of the house, held by machines."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = re.compile(r"telegram|discord|slack|claude|codex|opencode|gemini|aider|goose", re.IGNORECASE)
LONGEST = 400


def sources(*packages: str) -> list[Path]:
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def test_imports_point_down_only() -> None:
    script = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_core_names_no_chat_and_no_agent() -> None:
    files = [path for path in (ROOT / "beambot").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if NAMES.search(line) or NAMES.search(path.name)
    ]
    assert files
    assert found == []


def test_no_file_is_too_long_to_read() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in sources("beambot", "adapters", "platforms")
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert long == {}


def test_no_file_is_named_after_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [path for path in sources("beambot", "adapters", "platforms") if path.stem in vague] == []


def test_every_module_says_why_it_exists() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources("beambot", "adapters", "platforms")
        if not path.read_text(encoding="utf-8").lstrip().startswith('"""')
    ]
    assert silent == []


def test_tests_have_no_package_that_could_hide_ours() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_pins_are_exact_and_name_no_registry() -> None:
    lines = (ROOT / "requirements.lock").read_text().split()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
