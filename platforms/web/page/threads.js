// The list of threads with their states.
import { el } from "./dom.js";

const WORDS = { idle: "", working: "Working", waiting: "Waiting for you", failed: "Failed", closed: "Closed" };

export class Threads {
  constructor(list, onChoose) {
    this.list = list;
    this.onChoose = onChoose;
    this.rows = new Map();
    this.current = "";
  }

  reset(rows) {
    this.rows = new Map(rows.map((row) => [row.id, row]));
    this.draw();
  }

  put(row) {
    this.rows.set(row.id, row);
    this.draw();
  }

  choose(id) {
    this.current = id;
    this.draw();
  }

  get newest() {
    return this.sorted()[0]?.id;
  }

  title(id) {
    const row = this.rows.get(id);
    return row ? row.title || "Untitled thread" : "New thread";
  }

  state(id) {
    return this.rows.get(id)?.state ?? "idle";
  }

  words(id) {
    return WORDS[this.state(id)] ?? "";
  }

  sorted() {
    return [...this.rows.values()].sort((a, b) => b.at - a.at);
  }

  draw() {
    const focused = document.activeElement?.dataset?.thread;
    this.list.replaceChildren(...this.sorted().map((row) => {
      const words = this.words(row.id);
      const dot = el("span", { class: `dot ${row.state}`, role: words ? "img" : null, "aria-label": words || null, title: words || null });
      const button = el("button", { type: "button", class: row.state, "data-thread": row.id, "aria-current": String(row.id === this.current) }, dot, el("span", { class: "name" }, this.title(row.id)));
      button.addEventListener("click", () => this.onChoose(row.id));
      return el("li", {}, button);
    }));
    if (focused) this.list.querySelector(`[data-thread="${CSS.escape(focused)}"]`)?.focus();
  }
}
