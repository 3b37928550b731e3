"""Install the real agents that the tests marked `agents` drive, each in its pinned version, into `.agents/`.

    python tests/agents/install.py            all of versions.json
    python tests/agents/install.py claude     only these

What is there already stays. Ends with 1 and one clear line when an agent could not be installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INTO = Path(os.environ.get("BEAMBOT_TEST_AGENTS") or HERE.parents[1] / ".agents")


class NotInstalled(Exception):
    """Why, and what helps."""


def pins() -> dict[str, dict[str, str]]:
    """Every agent with its package and version, and where its program then is."""
    found: dict[str, dict[str, str]] = json.loads((HERE / "versions.json").read_text(encoding="utf-8"))
    return found


def program(name: str) -> Path | None:
    """Where an agent's program is; None until it is installed in the version that is pinned."""
    pin = pins()[name]
    stamp = INTO / name / "installed"
    path = INTO / name / pin["program"]
    installed = stamp.is_file() and stamp.read_text(encoding="utf-8") == pin["npm"] and path.exists()
    return path if installed else None


def install(name: str, pin: dict[str, str]) -> Path:
    """One agent, anew."""
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalled(f"{name}: npm is not on PATH; install Node.js 20 or newer, which brings it")
    folder = INTO / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder), pin["npm"]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    path = folder / pin["program"]
    if done.returncode or not path.exists():
        said = (done.stderr or done.stdout).strip().splitlines()
        shutil.rmtree(folder, ignore_errors=True)
        why = "\n  ".join(said[-5:]) or f"exit code {done.returncode}"
        raise NotInstalled(f"{name}: npm could not install {pin['npm']} (is the network there?):\n  {why}")
    tried = subprocess.run([str(path), "--version"], capture_output=True, text=True)
    wanted = pin["npm"].rpartition("@")[2]
    if wanted not in tried.stdout:
        shutil.rmtree(folder, ignore_errors=True)
        raise NotInstalled(
            f"{name}: {pin['npm']} does not run here: {(tried.stderr or tried.stdout).strip()[-300:]}"
        )
    (folder / "installed").write_text(pin["npm"], encoding="utf-8")
    return path


def main(wanted: list[str]) -> int:
    """What is wanted and not there yet."""
    known = pins()
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    failed = False
    for name in wanted or list(known):
        if (there := program(name)) is not None:
            print(f"{name}: {there} is there")
            continue
        print(f"{name}: installing {known[name]['npm']} …", flush=True)
        try:
            print(f"{name}: {install(name, known[name])}")
        except NotInstalled as error:
            print(error, file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
