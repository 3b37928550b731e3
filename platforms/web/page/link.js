// The connection. What a person wrote is kept until the server has said that it was received.
const KEY = "beambot.unsent";

export class Outbox {
  all() {
    try {
      const items = JSON.parse(localStorage.getItem(KEY) ?? "[]");
      return Array.isArray(items) ? items : [];
    } catch {
      return [];
    }
  }

  save(items) {
    localStorage.setItem(KEY, JSON.stringify(items));
  }

  add(item) {
    this.save([...this.all(), item]);
  }

  remove(id) {
    const items = this.all();
    const left = items.filter((item) => item.id !== id);
    if (left.length !== items.length) this.save(left);
    return items.find((item) => item.id === id);
  }
}

export class Link {
  constructor(onFrame, onState) {
    this.onFrame = onFrame;
    this.onState = onState;
    this.outbox = new Outbox();
    this.acts = new Map();
    this.waits = 0;
    this.ready = false;
    this.flying = "";
    for (const name of ["online", "pageshow"]) addEventListener(name, () => this.retryNow());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.retryNow());
    setInterval(() => this.beat(), 15000);
  }

  connect() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/ws`);
    this.socket = socket;
    this.heard = Date.now();
    socket.addEventListener("message", (event) => {
      this.heard = Date.now();
      this.receive(JSON.parse(event.data));
    });
    socket.addEventListener("close", () => this.socket === socket && this.lost());
  }

  receive(frame) {
    if (frame.t === "hello") {
      this.ready = true;
      this.waits = 0;
      this.onState("ready");
      this.onFrame(frame);
      this.flying = "";
      this.flush();
      for (const { frame: act } of this.acts.values()) this.send(act);
      return;
    }
    if (frame.t === "ok") this.outbox.remove(frame.id);
    if (frame.t === "error" && frame.retry) return setTimeout(() => this.again(frame.id), frame.retry * 1000);
    if (frame.t === "error") frame.item = this.outbox.remove(frame.id);
    if (frame.id === this.flying) this.flying = "";
    this.flush();
    if (frame.t === "ok" || frame.t === "error" || frame.t === "ack") this.settle(frame);
    this.onFrame(frame);
  }

  lost() {
    this.ready = false;
    this.socket = null;
    this.waits += 1;
    this.onState("lost");
    // A refused WebSocket does not say why; a plain request does.
    if (this.waits > 1) fetch("/", { method: "GET" }).then((answer) => answer.status === 401 && this.onState("signed-out"), () => {});
    const delay = Math.min(5000, 250 * 2 ** Math.min(this.waits, 6)) * (0.75 + Math.random() / 2);
    this.timer = setTimeout(() => this.connect(), delay);
  }

  retryNow() {
    if (!this.socket) this.connect();
  }

  beat() {
    if (!this.ready) return;
    if (Date.now() - this.heard > 40000) {
      const socket = this.socket;
      this.lost();
      socket.close();
    } else this.send({ t: "ping" });
  }

  send(frame) {
    if (!this.ready) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  sendItem({ id, thread, text, files, fresh }) {
    return this.send({ t: "say", id, thread, text, files, new: fresh });
  }

  say(item) {
    this.outbox.add(item);
    if (item.text === "/stop") this.sendItem(item);
    else this.flush();
    return this.ready;
  }

  // One after the other, so that the order stays when one has to wait; only a stop overtakes.
  flush() {
    const [item] = this.outbox.all();
    if (this.flying || !item || !this.ready) return;
    this.flying = item.id;
    this.sendItem(item);
  }

  // Presses and forms stay in memory only: a form may hold a secret.
  act(frame, done) {
    this.acts.set(frame.id, { frame, done });
    this.send(frame);
  }

  again(id) {
    const item = this.outbox.all().find((one) => one.id === id);
    if (item) this.sendItem(item);
    else if (this.acts.has(id)) this.send(this.acts.get(id).frame);
  }

  settle(frame) {
    const act = this.acts.get(frame.id);
    if (!act) return;
    // Received is not yet decided: the buttons stay off until the answer, or for a while.
    if (frame.t === "ok") {
      act.frame = { t: "ping" };
      setTimeout(() => this.finish(frame.id, act), 6000);
    } else {
      frame.mine = true;
      this.finish(frame.id, act);
    }
  }

  finish(id, act) {
    this.acts.delete(id);
    act.done();
  }
}
