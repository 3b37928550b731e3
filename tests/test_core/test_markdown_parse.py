"""What a text says once it is read: names stay names, nothing is swallowed, links say where they lead."""

from __future__ import annotations

import pytest

from beambot.api import markdown as md
from beambot.render.markdown.reading.links import destination, is_deceptive


def said(text: str, skip: int = 0) -> str:
    return md.plain(md.parse(text, skip))


def styles(text: str) -> list[tuple[str, int]]:
    (block,) = md.parse(text)
    assert isinstance(block, md.Paragraph)
    return [(span.text, span.style) for span in block.spans]


@pytest.mark.parametrize(
    "text",
    [
        "__init__.py and __main__.py, snake_case_names, _private_name_",
        "2*3*4 and a*b and c*d, f(*args, **kwargs)",
        "**/*.py, src/**/*.ts, **/node_modules/**, **/a.py,**/b.py",
        "foo-*, bar-* and *.pyc,*.pyo",
        "Vec<String>, HashMap<K, V>, std::vector<std::string>, <T>, <id:home>",
        "a || b || c, cat x | grep y, ~/a,~/b, ~5 to ~10",
        "C:\\paths\\.with\\_odd and \\\\server\\share\\_x",
        "\\(x_1\\) and $a_1 + b_1$",
        "<div>\n<b>bold</b>\n</div>",
        "[docs]: https://docs.example 'a title'",
        "[the docs][docs], [docs][] and ![image][pic]",
    ],
)
def test_what_only_looks_like_markup_is_shown_as_written(text: str) -> None:
    assert said(text) == text


def test_a_display_formula_keeps_its_brackets() -> None:
    assert said("\\[\nx\n\\]") == "\\[\nx\n\\]"


def test_an_escape_hides_itself() -> None:
    assert said("\\* \\_a\\_ \\# \\[x\\] \\@all\n1\\. one\n\\- two") == "* _a_ # [x] @all\n1. one\n- two"


def test_bold_names_of_files_are_bold() -> None:
    assert styles("**.env** and **/etc/hosts**") == [(".env", md.BOLD), (" and ", 0), ("/etc/hosts", md.BOLD)]


def test_bold_punctuation_may_touch_letters_of_a_script_without_spaces() -> None:
    assert styles("这是**“引号”**的。**注意：**后面") == [
        ("这是", 0),
        ("“引号”", md.BOLD),
        ("的。", 0),
        ("注意：", md.BOLD),
        ("后面", 0),
    ]
    assert styles("使用**`x`**来") == [("使用", 0), ("x", md.BOLD | md.CODE), ("来", 0)]


def test_the_stand_ins_of_a_text_are_never_seen_even_if_it_uses_them_itself() -> None:
    text = "\U0001d800 [a]: b \U0001d801\n<b>\n**x.**y"
    assert said(text) == "\U0001d800 [a]: b \U0001d801\n<b>\nx.y"


def test_a_definition_is_no_hiding_place() -> None:
    text = "before\n\n[x]: /url 'hidden\nlines\nhere'\n\nafter"
    assert said(text) == text


def test_html_does_not_swallow_the_markup_behind_it() -> None:
    _, code = md.parse("<details>\n```py\nx\n```\n</details>")[:2]
    assert code == md.Code("x", "py", at=10, end=21)


def test_pipes_in_the_code_of_a_row_are_no_borders() -> None:
    assert said("| a | b |\n|---|---|\n| `x | y` | 2 |\n| `p|q` | `r` |").split("\n")[2:] == [
        "x | y │ 2",
        "p|q   │ r",
    ]


def test_cells_beyond_the_last_column_are_kept() -> None:
    assert said("| a | b |\n|---|---|\n| 1 | 2 | 3 | 4 |").split("\n")[2] == "1 │ 2 | 3 | 4"


def test_a_list_counts_on_and_follows_its_own_numbers() -> None:
    numbers = [block.inside[0] for block in md.parse("1. a\n1. b\n10. c\n10. d\n2024. e")]
    assert [item.number for item in numbers if isinstance(item, md.Item)] == [1, 2, 10, 11, 2024]


def test_a_task_in_a_numbered_list_keeps_its_number() -> None:
    assert said("1. [x] a\n2. [ ] b") == "1. ☑ a\n2. ☐ b"


def test_an_item_by_tabs_begins_at_its_marker() -> None:
    text = "- one\n\t- two"
    inner = md.parse(text)[1].inside
    assert [text[container.at] for container in inner] == ["-", "-"]


def test_notes_in_one_paragraph_are_parted() -> None:
    assert said("[^1]: One.\n[^b]: **Two**\nmore") == "[1] One.\n[b] Two\n  more"


def test_a_warning_without_words_is_still_a_warning() -> None:
    assert said("> [!WARNING]") == "> Warning\n> "
    assert said("> [!NOTE]\n> Mind.") == "> Note\n> Mind."


def test_a_heading_is_one_line_and_an_empty_one_is_none() -> None:
    assert said("two\nlines\n===\n\n# \n\nx") == "two lines\n\nx"


def test_places_are_characters_also_with_other_line_ends() -> None:
    text = "é\r\n\r\n- 日本\r\n- b\r\n\r\n```py\r\nx\r\n```"
    assert [text[block.at] for block in md.parse(text)] == ["é", "日", "b", "`"]
    assert said(text) == "é\n\n• 日本\n• b\n\nx"


def test_halves_of_pairs_are_joined_or_replaced() -> None:
    assert said("\ud83d\udc4d and \ud83d") == "👍 and \ufffd"


def test_what_is_hidden_at_the_beginning_is_not_shown() -> None:
    assert said("- . rest `code`", 4) == "  rest code"
    assert said(". `ode` more", 3) == "ode more"
    assert said("```py\nx\n```", 6) == "x"


@pytest.mark.parametrize(
    ("label", "target"),
    [
        ("https://good.example", "https://evil.example"),
        ("good.example/path", "https://evil.example/path"),
        ("pay at https://good.example now", "https://evil.example"),
        ("good.example.", "https://evil.example"),
        ("банк.рф", "https://evil.example"),
        ("anything", "https://good.example@evil.example/"),
        ("x", "https://[bad"),
    ],
)
def test_a_link_that_says_another_place_is_found_out(label: str, target: str) -> None:
    assert is_deceptive(label, target)
    assert f"({target})" in said(f"[{label}](<{target}>)").replace("%5B", "[")


@pytest.mark.parametrize(
    ("label", "target"),
    [
        ("main.py", "https://git.example/main.py"),
        ("www.good.example", "https://good.example/x"),
        ("the docs", "https://docs.example"),
        ("https://good.example/a", "https://good.example/b"),
    ],
)
def test_an_honest_link_is_left_alone(label: str, target: str) -> None:
    assert not is_deceptive(label, target)


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "data:text/html,x", "tg://x", "file:///etc", "a.md", "//x"]
)
def test_a_chat_goes_nowhere_but_to_the_web(target: str) -> None:
    assert destination(target) == ""


def test_an_address_has_no_blanks_or_brackets() -> None:
    assert destination("https://e.example/a b<c>\u2028d|e") == "https://e.example/a%20b%3Cc%3E%E2%80%A8d%7Ce"


def test_an_address_that_is_no_address_is_not_shown_in_full() -> None:
    assert len(said(f"![x](data:image/png;base64,{'A' * 100_000})")) < 300


def test_two_links_to_one_place_each_say_where_they_lead() -> None:
    assert said("<me@e.example> or [mail](mailto:me@e.example)") == "me@e.example or mail (mailto:me@e.example)"


def test_a_quotation_is_not_parted_by_an_empty_line() -> None:
    assert said("> a\n>\n> b") == "> a\n>\n> b"


@pytest.mark.parametrize(
    ("text", "columns"), [("ab", 2), ("日本", 4), ("👨\u200d👩\u200d👧", 2), ("👍🏽", 2), ("❤️", 2), ("e\u0301", 1)]
)
def test_a_column_is_as_wide_as_it_looks(text: str, columns: int) -> None:
    assert md.width(text) == columns


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("python", "python"),
        (" c++ x", "c++"),
        ("{.python}", "python"),
        ("js{1,3}", "js"),
        ('"><b>', "b"),
        ("@!", ""),
        ("", ""),
    ],
)
def test_a_language_is_a_name(info: str, language: str) -> None:
    (code,) = md.parse(f"```{info}\nx\n```")
    assert isinstance(code, md.Code)
    assert code.language == language
