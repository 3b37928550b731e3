"""The words in a rich message, as a person reads them."""

from __future__ import annotations

Json = dict[str, object]


def words(rich: Json) -> str:
    """All of a rich message as plain lines; Markdown and HTML stay as they were sent."""
    blocks = rich.get("blocks")
    if isinstance(blocks, list):
        return "\n".join(line for block in blocks if isinstance(block, dict) for line in _lines(block))
    return str(rich.get("markdown") or rich.get("html") or "")


def plain(text: object) -> str:
    """The words of a RichText: a string, a piece with a style, or a list of both."""
    if isinstance(text, str):
        return text
    if isinstance(text, list):
        return "".join(map(plain, text))
    if isinstance(text, dict):
        return plain(text.get("text", ""))
    return ""


def _lines(block: Json) -> list[str]:
    lines: list[str] = []
    match block.get("type"):
        case "divider":
            lines.append("———")
        case "list":
            for item in _objects(block.get("items")):
                mark = "•"
                if item.get("has_checkbox"):
                    mark = "☑" if item.get("is_checked") else "☐"
                elif item.get("value") is not None:
                    mark = f"{item['value']}."
                inner = [line for one in _objects(item.get("blocks")) for line in _lines(one)]
                lines += [f"{mark} {line}" if not at else f"  {line}" for at, line in enumerate(inner or [""])]
        case "table":
            rows = block.get("cells")
            for row in rows if isinstance(rows, list) else []:
                lines.append(" | ".join(plain(cell.get("text", "")) for cell in _objects(row)))
        case "details":
            lines.append(f"▸ {plain(block.get('summary', ''))}")
            lines += [f"  {line}" for one in _objects(block.get("blocks")) for line in _lines(one)]
        case "blockquote":
            lines += [f"> {line}" for one in _objects(block.get("blocks")) for line in _lines(one)]
        case "thinking":
            lines.append(plain(block.get("text", "")) or "Thinking…")
        case _:
            lines += plain(block.get("text", "")).split("\n")
    return lines


def _objects(value: object) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
