// One element for each kind of block. Only the agent's text comes as HTML, made harmless by the server.
import { clock, el, icon } from "./dom.js";

const TOOL_ICONS = { read: "read", edit: "edit", delete: "cross", move: "edit", search: "search", execute: "execute", think: "think", fetch: "fetch" };
const STATE_ICONS = { running: "spin", done: "check", failed: "cross", denied: "dash", cancelled: "dash" };
const STATE_WORDS = { running: "running", done: "done", failed: "failed", denied: "denied", cancelled: "cancelled" };
const NOTICE_ICONS = { info: "info", ask: "ask", success: "check", warning: "warn", error: "warn" };
const CHECK_ICONS = { completed: "check", in_progress: "spin", pending: "dash" };

export function drawBlock(block) {
  return DRAW[block.t] ? DRAW[block.t](block) : el("p", { class: "footer" }, "This page is too old to show a part of this message. Reload it.");
}

// The text element keeps the HTML of each piece, so that a change can name how much of it stays.
function drawText(block) {
  const text = el("div", { class: "text", dir: "auto" });
  text.pieces = [];
  growText(text, block.open, block.html.length, block.html.map((html, index) => [index, 0, html]));
  if (block.folded) {
    const words = block.under ? `Thinking · ${block.under}` : "Thinking";
    return el("details", { class: "thinking" }, el("summary", {}, icon("chevron", "fold"), icon("think"), words), text);
  }
  return block.under ? el("section", { class: "under" }, el("p", { class: "title" }, block.under), text) : text;
}

export function textOf(element) {
  return element.classList.contains("text") ? element : element.querySelector(".text");
}

export function growText(text, open, count, changes) {
  for (const [index, keep, rest] of changes) {
    const html = (text.pieces[index] ?? "").slice(0, keep) + rest;
    text.pieces[index] = html;
    while (text.children.length <= index) text.append(el("div", { class: "piece" }));
    text.children[index].innerHTML = html;
  }
  text.pieces.length = count;
  while (text.children.length > count) text.lastElementChild.remove();
  text.classList.toggle("open", open);
}

function drawTools(block) {
  const running = block.lines.filter((line) => line.state === "running");
  const failed = block.lines.filter((line) => line.state === "failed").length;
  const total = block.lines.length + block.hidden;
  const steps = `${total} ${total === 1 ? "step" : "steps"}`;
  const state = running.length ? "running" : failed ? "failed" : "done";
  const what = running.length ? running[running.length - 1].title : total === 1 && block.lines.length ? block.lines[0].title : failed ? `${steps}, ${failed} failed` : steps;
  const summary = el("summary", {}, icon("chevron", "fold"), icon(STATE_ICONS[state], `state-${state}${state === "running" ? " spin" : ""}`), el("span", { class: "what" }, what), running.length && total > 1 ? el("span", {}, steps) : null);
  const list = el("ol");
  if (block.hidden) list.append(el("li", {}, `… ${block.hidden} earlier`));
  for (const line of block.lines) {
    list.append(
      el("li", { class: `depth-${Math.min(line.depth, 3)}` },
        icon(TOOL_ICONS[line.kind] ?? "other"),
        el("span", { class: "name", title: line.title }, line.title),
        el("time", {}, clock(line.seconds)),
        el("span", { class: `state-${line.state}`, role: "img", "aria-label": STATE_WORDS[line.state] }, icon(STATE_ICONS[line.state], line.state === "running" ? "spin" : ""))));
  }
  return el("details", { class: "tools", open: running.length > 0 && total > 1 }, summary, list);
}

function drawChecklist(block) {
  const items = block.items.map(([text, status]) => el("li", { class: status }, icon(CHECK_ICONS[status]), el("span", {}, text)));
  return el("ul", { class: "checklist", "aria-label": "Plan" }, ...items);
}

function drawDiff(block) {
  const code = el("code");
  for (const line of block.lines) {
    const kind = line.startsWith("@@") ? "hunk" : line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "";
    code.append(el("span", { class: `l ${kind}` }, line));
  }
  const summary = el("summary", {}, icon("chevron", "fold"), el("span", { class: "path", title: block.path }, block.path), el("span", { class: "plus" }, `+${block.added}`), el("span", { class: "minus" }, `−${block.removed}`));
  return el("details", { class: "diff", open: block.lines.length <= 60 }, summary, el("pre", { tabindex: "0", "aria-label": `Changes in ${block.path}` }, code));
}

function drawFacts(block) {
  const list = el("dl", { class: "facts" });
  for (const [name, value, code] of block.facts) list.append(el("dt", {}, name), el("dd", {}, code ? el("code", value.includes("\n") ? { class: "lines" } : {}, value) : value));
  return list;
}

const DRAW = {
  text: drawText,
  tools: drawTools,
  list: drawChecklist,
  diff: drawDiff,
  facts: drawFacts,
  notice: (block) => el("div", { class: `notice ${block.level}` }, icon(NOTICE_ICONS[block.level] ?? "info"), el("span", {}, block.text)),
  footer: (block) => el("p", { class: "footer" }, block.text),
};
