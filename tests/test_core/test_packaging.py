"""What is installed is what was written: three packages, the page, the entry points."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, cwd: Path, **environ: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), cwd=ROOT)
    (made,) = out.glob("*.whl")
    return made


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_source_file_of_all_three_packages(wheel: Path) -> None:
    written = {
        str(path.relative_to(ROOT))
        for package in ("beambot", "adapters", "platforms")
        for path in (ROOT / package).rglob("*.py")
    }
    assert {name.split("/")[0] for name in written} == {"beambot", "adapters", "platforms"}
    assert written <= names(wheel)


def test_the_wheel_holds_the_files_of_the_page(wheel: Path) -> None:
    page = {str(path.relative_to(ROOT)) for path in (ROOT / "platforms/web/page").rglob("*") if path.is_file()}
    assert any(name.endswith(".html") for name in page)
    assert page <= names(wheel)


def test_the_wheel_holds_the_example_that_init_writes(wheel: Path) -> None:
    assert any(name.endswith("/config.example.yaml") for name in names(wheel))


def test_the_wheel_holds_no_tests_and_nothing_of_this_machine(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.startswith("beambot-")} == {"beambot", "adapters", "platforms"}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            assert str(ROOT).encode() not in archive.read(name), name


def test_the_wheel_names_its_plugins_and_its_program(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        points = configparser.ConfigParser(delimiters=("=",))
        points.read_string(archive.read(entry).decode())
    assert points["console_scripts"]["beambot"] == "beambot.cli:main"
    assert {"acp", "demo"} <= set(points["beambot.adapters"])
    assert "web" in points["beambot.platforms"]


def test_the_wheel_works_in_a_clean_folder(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
        "--disable-pip-version-check", "--root-user-action=ignore", "--target", str(target), str(wheel),
        cwd=tmp_path,
    )  # fmt: skip
    script = (
        "import adapters, beambot, platforms, sys\n"
        "from beambot.registry import Registry\n"
        "assert all(m.__file__.startswith(sys.argv[1]) for m in (adapters, beambot, platforms))\n"
        "registry = Registry()\n"
        "print(registry.problems(), registry.adapter_names(), registry.platform_names())\n"
        "from beambot.cli.setting import example_text\n"
        "assert 'projects:' in example_text()\n"
    )
    out = run(sys.executable, "-c", script, str(target), cwd=tmp_path, PYTHONPATH=str(target))
    assert out.startswith("() ")
