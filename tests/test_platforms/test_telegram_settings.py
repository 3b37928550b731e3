"""The section `platforms.telegram` of a configuration, and what is wrong with a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from beambot.config.section import Section
from beambot.config.source import Source
from platforms.telegram import Settings, configure, spec

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"


def read(text: str) -> tuple[Settings, list[str]]:
    source = Source(text, "c.yaml", Path("."), {"BOT": TOKEN, "BAD": "not a token", "HOOK": "s e c r e t"})
    section = Section(source, source.root(), "platforms.telegram")
    settings = configure(section)
    section.finish()
    return settings, source.problems


def test_token_alone_is_enough() -> None:
    settings, problems = read("token_env: BOT")
    assert problems == []
    assert settings == Settings(token=TOKEN)
    assert (settings.receive, settings.stream, settings.rich, settings.groups) == (
        "polling",
        "edit",
        "off",
        "addressed",
    )


def test_everything_can_be_said() -> None:
    settings, problems = read(
        """
        token_env: BOT
        base_url: http://127.0.0.1:8081/bot
        base_file_url: http://127.0.0.1:8081/file/bot
        local: true
        receive: webhook
        webhook_url: https://bot.example.org/hook
        webhook_host: 0.0.0.0
        webhook_port: 8080
        stream: auto
        rich: auto
        groups: all
        icons: false
        senders: {"-1001": "11"}
        """
    )
    assert problems == []
    assert settings.senders == {"-1001": "11"}
    assert settings.webhook_url == "https://bot.example.org/hook"
    assert not settings.icons


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "token_env"),
        ("token_env: BAD", "@BotFather"),
        ("token: 123456789:secret", "token_file"),
        ("{token_env: BOT, stream: fast}", "edit, draft, auto"),
        ("{token_env: BOT, rich: on}", "off, auto"),
        ("{token_env: BOT, base_url: ftp://x}", "base_url"),
        ("{token_env: BOT, receive: webhook}", "webhook_url"),
        ("{token_env: BOT, receive: webhook, webhook_url: 'http://x.org/'}", "https"),
        ("{token_env: BOT, receive: webhook, webhook_url: 'https://x.org:9000/'}", "8443"),
        ("{token_env: BOT, receive: webhook, webhook_url: 'https://x.org/', webhook_secret_env: HOOK}", "letters"),
        ("{token_env: BOT, senders: {'11': '12'}}", "senders"),
        ("{token_env: BOT, tokn_file: x}", "token_file"),
    ],
)
def test_what_is_wrong_is_told(text: str, words: str) -> None:
    _, problems = read(text)
    assert problems != []
    assert any(words in problem for problem in problems)
    assert not any("secret" in problem and "123456789:secret" in problem for problem in problems)


def test_spec_names_itself() -> None:
    assert spec.name == "telegram"
