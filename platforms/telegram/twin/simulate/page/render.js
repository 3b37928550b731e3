// Messages as DOM nodes. Every word goes in as text, never as markup.

export function node(tag, classes = "", ...children) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...children);
  return made;
}

const TAGS = {
  bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code", pre: "pre",
  blockquote: "blockquote", expandable_blockquote: "blockquote",
};

const BLOCKS = new Set(["pre", "blockquote", "expandable_blockquote"]);

function link(address, ...children) {
  if (!/^(https?|tg|mailto):/i.test(address)) return node("span", "", ...children);
  const made = node("a", "", ...children);
  made.href = address;
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

function wrapped(entity, text, children) {
  switch (entity.type) {
    case "text_link": return link(entity.url, ...children);
    case "url": return link(/^[a-z]+:/i.test(text) ? text : `https://${text}`, ...children);
    case "email": return link(`mailto:${text}`, ...children);
    case "mention": case "text_mention": case "hashtag": case "cashtag": case "bot_command":
      return node("span", "found", ...children);
    case "spoiler": return node("span", "spoiler", ...children);
    default: {
      const made = node(TAGS[entity.type] || "span", "", ...children);
      if (entity.type === "pre" && entity.language) made.dataset.language = entity.language;
      if (entity.type === "expandable_blockquote") {
        made.className = "folded";
        made.addEventListener("click", () => made.classList.toggle("folded"));
      }
      return made;
    }
  }
}

// Offsets are UTF-16 units, and so are those of strings here. Entities lie in each other or apart.
export function formatted(text, entities) {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  let next = 0;
  function between(start, end) {
    const made = [];
    let at = start;
    while (next < sorted.length && sorted[next].offset < end) {
      const entity = sorted[next++];
      const stop = Math.min(entity.offset + entity.length, end);
      if (entity.offset > at) made.push(text.slice(at, entity.offset));
      made.push(wrapped(entity, text.slice(entity.offset, stop), between(entity.offset, stop)));
      at = stop;
      // A block ends its line by itself.
      if (BLOCKS.has(entity.type) && text[at] === "\n" && at < end) at += 1;
    }
    if (at < end) made.push(text.slice(at, end));
    return made;
  }
  return between(0, text.length);
}

function richText(text) {
  if (typeof text === "string") return [text];
  if (Array.isArray(text)) return text.flatMap(richText);
  if (!text) return [];
  const inner = richText(text.text);
  if (text.type === "url") return [link(text.url || "", ...inner)];
  return [node(TAGS[text.type] || "span", "", ...inner)];
}

function richBlock(block) {
  const inside = () => (block.blocks || []).map(richBlock);
  switch (block.type) {
    case "heading": return node(`h${Math.min(Math.max(block.size || 1, 1), 6)}`, "", ...richText(block.text));
    case "pre": {
      const made = node("pre", "", ...richText(block.text));
      if (block.language) made.dataset.language = block.language;
      return made;
    }
    case "divider": return node("hr");
    case "footer": return node("p", "footer", ...richText(block.text));
    case "blockquote": return node("blockquote", "", ...inside());
    case "details": return node("details", "", node("summary", "", ...richText(block.summary)), ...inside());
    case "list": return node("ul", "", ...(block.items || []).map((item) => {
      const mark = item.has_checkbox ? (item.is_checked ? "☑" : "☐") : item.value != null ? `${item.value}.` : "•";
      return node("li", "", node("span", "mark", mark), node("div", "", ...(item.blocks || []).map(richBlock)));
    }));
    case "table": return node("div", "table", node("table", "", ...(block.cells || []).map((row) =>
      node("tr", "", ...row.map((cell) => node(cell.is_header ? "th" : "td", cell.align || "", ...richText(cell.text)))))));
    default: return node("p", block.type === "thinking" ? "thinking" : "", ...richText(block.text));
  }
}

export function content(message) {
  const parts = [];
  if (message.file) parts.push(file(message.file));
  if (message.rich) {
    const blocks = message.rich.blocks;
    parts.push(blocks ? node("div", "text rich", ...blocks.map(richBlock))
      : node("div", "text", message.rich.markdown || message.rich.html || ""));
  } else if (message.text) {
    parts.push(node("div", "text", ...formatted(message.text, message.entities)));
  }
  return parts;
}

function file(one) {
  const address = `/files/${encodeURIComponent(one.id)}`;
  if (one.kind === "photo") {
    const picture = node("img", "picture");
    picture.src = address;
    picture.alt = one.name;
    return picture;
  }
  const made = node("a", "file", `${one.kind === "voice" ? "🎤" : "📄"} ${one.name} · ${size(one.size)}`);
  made.href = address;
  made.download = one.name;
  return made;
}

function size(bytes) {
  return bytes < 1024 ? `${bytes} B` : bytes < 1048576 ? `${(bytes / 1024).toFixed(1)} kB`
    : `${(bytes / 1048576).toFixed(1)} MB`;
}
