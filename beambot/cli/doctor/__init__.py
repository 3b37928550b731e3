"""`beambot doctor`: every finding with its fix."""

from __future__ import annotations

import argparse
import json
import textwrap
from functools import partial

import anyio

from beambot.cli.doctor.checks import Finding, examine
from beambot.log import redact
from beambot.registry import Registry

__all__ = ["Finding", "run"]


def run(args: argparse.Namespace) -> int:
    """Exit code 1 if beambot cannot work as it is."""
    findings = anyio.run(partial(examine, args.config, Registry()))
    if args.json:
        plain = [{"level": f.level, "area": f.area, "text": f.text, "fix": f.fix} for f in findings]
        print(redact(json.dumps(plain, indent=2, ensure_ascii=False)))
    else:
        for finding in findings:
            print(redact(_shown(finding)))
        print(_summary(findings))
    return 1 if any(finding.level == "error" for finding in findings) else 0


def _shown(finding: Finding) -> str:
    head = f"{finding.level:<6} {finding.area:<9} "
    text = textwrap.indent(finding.text, " " * len(head)).lstrip()
    fix = f"\n{' ' * len(head)}fix: {finding.fix}" if finding.fix else ""
    return f"{head}{text}{fix}"


def _summary(findings: list[Finding]) -> str:
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warn" for finding in findings)
    if not errors and not warnings:
        return "\nall is well"
    return f"\n{errors} error{'' if errors == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}"
