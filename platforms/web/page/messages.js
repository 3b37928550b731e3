// The messages of the thread that is shown: drawn once, then changed in place.
import { drawBlock, growText, textOf } from "./blocks.js";
import { drawControls } from "./controls.js";
import { el, icon } from "./dom.js";

const RECEIPTS = {
  unsent: ["clock", "Waiting for the connection"], sending: ["spin", "Sending"], received: ["check", "Received"], queued: ["clock", "Queued"],
  working: ["spin", "Working"], waiting: ["ask", "Waiting for you"], done: ["check", "Done"], failed: ["cross", "Failed"], cancelled: ["dash", "Cancelled"],
};

class Post {
  constructor(data, act) {
    this.act = (frame, done) => act({ ...frame, message: String(this.id) }, done);
    this.id = data.id;
    this.blocks = [];
    this.json = [];
    this.body = el("article", { class: "message post", "data-id": data.id, "aria-label": "beambot" });
    this.update(data);
  }

  update(data) {
    this.seq = data.seq;
    data.blocks.forEach((block, index) => {
      const json = JSON.stringify(block);
      if (this.json[index] !== json) this.setBlock(index, block);
      this.json[index] = json;
    });
    this.cut(data.blocks.length);
    this.setRest(data);
    this.finish();
  }

  patch(seq, patch) {
    this.seq = seq;
    for (const [index, open, count, changes] of patch.grown) {
      growText(textOf(this.blocks[index]), open, count, changes);
      this.json[index] = null;
    }
    for (const [index, block] of patch.whole) {
      this.setBlock(index, block);
      this.json[index] = JSON.stringify(block);
    }
    this.cut(patch.count);
    if (patch.rest) this.setRest(patch.rest);
    this.finish();
  }

  setBlock(index, block) {
    const old = this.blocks[index];
    const next = drawBlock(block);
    if (next.tagName === "DETAILS") {
      next.firstElementChild.addEventListener("click", () => (next.dataset.touched = "yes"));
      if (old && old.className === next.className && old.dataset.touched) {
        next.open = old.open;
        next.dataset.touched = "yes";
      }
    }
    if (old) old.replaceWith(next);
    else if (this.controls) this.controls.before(next);
    else this.body.append(next);
    this.blocks[index] = next;
  }

  cut(count) {
    for (const block of this.blocks.splice(count)) block.remove();
    this.json.length = count;
  }

  setRest(rest) {
    const json = JSON.stringify([rest.buttons, rest.form]);
    if (json === this.restJson) return;
    this.restJson = json;
    this.controls?.remove();
    this.controls = drawControls(rest, this.act);
    if (this.controls) this.body.append(this.controls);
  }

  finish() {
    const ask = this.blocks.some((block) => block.matches(".notice.ask"));
    this.body.classList.toggle("card", Boolean(this.controls) && (ask || this.controls.querySelector("form") !== null));
    this.body.setAttribute("aria-busy", String(this.blocks.some((block) => textOf(block)?.classList.contains("open"))));
  }
}

class Said {
  constructor(data, me) {
    this.id = data.id;
    this.client = data.client;
    const mine = data.kind === "said";
    this.body = el("article", { class: `message ${mine ? "said" : "post"}`, "data-id": data.id ?? "", "aria-label": mine ? "You" : "beambot" });
    if (data.text.startsWith("/") && mine) this.body.classList.add("command");
    if (data.text) this.body.append(el("div", { class: mine ? "bubble" : "text", dir: "auto" }, data.text));
    for (const file of data.files ?? []) this.body.append(drawFile(file));
    if (mine && data.who && data.who !== me) this.body.append(el("span", { class: "receipt" }, data.who));
    this.mark = el("span", { class: "receipt" });
    if (mine) this.body.append(this.mark);
    this.update(data);
  }

  update(data) {
    this.seq = data.seq;
    this.setReceipt(data.receipt);
  }

  setReceipt(receipt) {
    const [name, words] = RECEIPTS[receipt] ?? ["dash", ""];
    this.mark.className = `receipt ${receipt}`;
    this.mark.replaceChildren(icon(name, name === "spin" ? "spin" : ""), words);
    this.body.classList.toggle("pending", receipt === "sending" || receipt === "unsent");
  }
}

function drawFile(file) {
  const href = `/files/${encodeURIComponent(file.handle)}`;
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.mime ?? "")) return el("a", { href, target: "_blank", rel: "noopener" }, el("img", { class: "picture", src: href, alt: file.name, loading: "lazy" }));
  return el("a", { class: "chip", href, download: file.name }, icon("clip"), el("span", { class: "name" }, file.name));
}

export class Messages {
  constructor(log, act) {
    this.log = log;
    this.act = act;
    this.me = "";
    this.clear();
  }

  clear() {
    this.byId = new Map();
    this.pending = new Map();
    this.log.replaceChildren();
  }

  get size() {
    return this.byId.size + this.pending.size;
  }

  get firstId() {
    return Math.min(...this.byId.keys());
  }

  // Messages stand in the order of their ids; what is not yet received stands below all of them.
  put(data) {
    const known = this.byId.get(data.id);
    if (known) return known.update(data);
    const message = data.kind === "post" ? new Post(data, this.act) : new Said(data, this.me);
    this.settle(data.client);
    const after = [...this.log.children].find((child) => !child.dataset.id || Number(child.dataset.id) > data.id);
    this.log.insertBefore(message.body, after ?? null);
    this.byId.set(data.id, message);
  }

  // False: a change was missed, the page has to ask for the newest state.
  patch(event) {
    const message = this.byId.get(event.id);
    if (!message || message.seq !== event.base || !message.patch) return false;
    message.patch(event.seq, event.patch);
    return true;
  }

  receipt(event) {
    const message = this.byId.get(event.id);
    if (!message) return;
    message.seq = event.seq;
    message.setReceipt?.(event.receipt);
  }

  remove(id) {
    this.byId.get(id)?.body.remove();
    this.byId.delete(id);
  }

  expect(item, receipt) {
    const known = this.pending.get(item.id);
    if (known) return known.setReceipt(receipt);
    const message = new Said({ ...item, id: null, kind: "said", client: item.id, files: item.shown ?? [], receipt }, this.me);
    this.pending.set(item.id, message);
    this.log.append(message.body);
  }

  settle(client) {
    this.pending.get(client)?.body.remove();
    this.pending.delete(client);
  }
}
