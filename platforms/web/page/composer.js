// Where a person writes: Enter sends, Shift+Enter makes a line, "/" shows the commands.
import { el, icon, toast } from "./dom.js";

export class Composer {
  constructor(onSend) {
    this.onSend = onSend;
    this.text = document.getElementById("text");
    this.send = document.getElementById("send");
    this.hints = document.getElementById("hints");
    this.chips = document.getElementById("chips");
    this.picker = document.getElementById("file");
    this.commands = [];
    this.limits = { text: 30000, frame: 65536, file: 10485760 };
    this.files = [];
    this.chosen = -1;
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("blur", () => setTimeout(() => this.showHints([]), 150));
    this.text.addEventListener("paste", (event) => event.clipboardData.files.length && this.upload([...event.clipboardData.files]));
    document.getElementById("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    document.getElementById("attach").addEventListener("click", () => this.picker.click());
    this.picker.addEventListener("change", () => {
      this.upload([...this.picker.files]);
      this.picker.value = "";
    });
  }

  set(text) {
    this.text.value = text;
    this.changed();
  }

  changed() {
    this.text.style.height = "auto";
    this.text.style.height = `${this.text.scrollHeight}px`;
    this.send.disabled = !this.text.value.trim() && !this.files.length;
    const typed = /^\/\S*$/.test(this.text.value) ? this.text.value.toLowerCase() : null;
    this.showHints(typed === null ? [] : this.commands.filter(([name]) => `/${name.replace(/^\//, "")}`.startsWith(typed)));
  }

  showHints(commands) {
    this.chosen = commands.length ? 0 : -1;
    this.hints.hidden = !commands.length;
    this.hints.replaceChildren(...commands.map(([name, help], index) => {
      const command = `/${name.replace(/^\//, "")}`;
      const hint = el("li", { role: "option", id: `hint-${index}`, "data-command": command, "aria-selected": String(index === 0) }, el("code", {}, command), el("span", {}, help));
      hint.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.take(command);
      });
      return hint;
    }));
    this.point();
  }

  point() {
    [...this.hints.children].forEach((hint, index) => hint.setAttribute("aria-selected", String(index === this.chosen)));
    if (this.chosen < 0) this.text.removeAttribute("aria-activedescendant");
    else this.text.setAttribute("aria-activedescendant", `hint-${this.chosen}`);
    this.hints.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  take(command) {
    this.set(`${command} `);
    this.showHints([]);
    this.text.focus();
  }

  key(event) {
    if (event.isComposing) return;
    const open = !this.hints.hidden;
    const count = this.hints.children.length;
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      this.chosen = (this.chosen + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
      this.point();
    } else if (open && event.key === "Escape") this.showHints([]);
    else if (open && (event.key === "Tab" || (event.key === "Enter" && this.hints.children[this.chosen].dataset.command !== this.text.value))) this.take(this.hints.children[this.chosen].dataset.command);
    else if (event.key === "Enter" && !event.shiftKey) this.submit();
    else return;
    event.preventDefault();
  }

  submit() {
    const text = this.text.value.trimEnd();
    if (!text.trim() && !this.files.length) return;
    const bytes = new TextEncoder().encode(JSON.stringify(text)).length;
    if (text.length > this.limits.text || bytes > this.limits.frame - 2048) {
      toast("This message is too long. Send it as a file, or in parts.", true);
      return;
    }
    this.onSend(text, this.files);
    this.files = [];
    this.drawChips();
    this.set("");
    this.text.focus();
  }

  async upload(files) {
    for (const file of files) {
      if (this.files.length >= 10) return toast("A message may carry ten files at the most.", true);
      if (file.size > this.limits.file) {
        toast(`${file.name} is larger than 10 MiB.`, true);
        continue;
      }
      try {
        const headers = { "Content-Type": file.type || "application/octet-stream" };
        const answer = await fetch(`/upload?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file, headers });
        if (!answer.ok) throw new Error(await answer.text());
        this.files.push(await answer.json());
        this.drawChips();
        this.changed();
      } catch (error) {
        toast(`${file.name} was not sent. ${error.message}`, true);
      }
    }
  }

  drawChips() {
    this.chips.hidden = !this.files.length;
    this.chips.replaceChildren(...this.files.map((file) => {
      const drop = el("button", { type: "button", "aria-label": `Leave out ${file.name}` }, icon("cross"));
      drop.addEventListener("click", () => {
        this.files = this.files.filter((one) => one !== file);
        this.drawChips();
        this.changed();
      });
      return el("span", { class: "chip" }, icon("clip"), el("span", { class: "name" }, file.name), drop);
    }));
  }
}
