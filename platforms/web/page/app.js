// Puts the parts together: what the server says goes to the parts, what a person does goes to the server.
import { Composer } from "./composer.js";
import { newId, toast } from "./dom.js";
import { Link } from "./link.js";
import { Messages } from "./messages.js";
import { Threads } from "./threads.js";

const $ = (id) => document.getElementById(id);
const scroll = $("scroll");
let current = "";
let seen = 0;
let loaded = false;
let pinned = true;
let typingTimer = 0;

const link = new Link(onFrame, onState);
const messages = new Messages($("log"), (frame, done) => {
  if (!link.ready) {
    toast("Not connected. Try again in a moment.", true);
    return done();
  }
  link.act({ ...frame, id: newId(), thread: current }, done);
});
const threads = new Threads($("threads"), choose);
const composer = new Composer(say);

function say(text, files = []) {
  const item = { id: newId(), thread: current, text, files: files.map((file) => file.handle), shown: files, fresh: !threads.rows.has(current) };
  const sent = link.say(item);
  pinned = true;
  change(() => messages.expect(item, sent ? "sending" : "unsent"));
}

function choose(id, focus = true) {
  current = id;
  seen = 0;
  loaded = false;
  pinned = true;
  history.replaceState(null, "", `#${id}`);
  messages.clear();
  threads.choose(id);
  $("earlier").hidden = true;
  $("typing").hidden = true;
  drawer(false);
  link.send({ t: "open", thread: current, since: 0 });
  showWaiting();
  describe();
  if (focus) composer.text.focus();
}

function showWaiting() {
  for (const item of link.outbox.all()) if (item.thread === current) messages.expect(item, link.ready ? "sending" : "unsent");
}

// Every change of what is shown: who reads at the end stays at the end, who reads above is not moved.
function change(work) {
  work();
  $("welcome").hidden = !loaded || messages.size > 0;
  if (pinned) scroll.scrollTop = scroll.scrollHeight;
}

function describe() {
  const title = threads.title(current);
  const state = threads.state(current);
  const words = threads.words(current);
  $("title").textContent = title;
  $("state").textContent = words;
  $("state").className = `pill ${state}`;
  $("stop").hidden = state !== "working" && state !== "waiting";
  document.title = `${words ? `${words} · ` : ""}${title} · beambot`;
}

const FRAMES = {
  hello(frame) {
    messages.me = frame.user;
    $("me").textContent = `Signed in as ${frame.user}`;
    composer.commands = frame.commands;
    composer.limits = frame.limits;
    threads.reset(frame.threads);
    const wanted = current || location.hash.slice(1);
    if (current) link.send({ t: "open", thread: current, since: seen });
    else choose(/^[a-z0-9]{8,64}$/.test(wanted) ? wanted : (threads.newest ?? newId()), false);
    showWaiting();
    describe();
  },
  thread(frame) {
    threads.put(frame.thread);
    if (frame.thread.id === current) describe();
  },
  snapshot(frame) {
    messages.clear();
    for (const message of frame.messages) messages.put(message);
    showWaiting();
    $("earlier").hidden = !frame.more;
    loaded = true;
    pinned = true;
  },
  changes(frame) {
    for (const message of frame.messages) messages.put(message);
    for (const id of frame.gone) messages.remove(id);
  },
  earlier(frame) {
    const height = scroll.scrollHeight;
    for (const message of frame.messages) messages.put(message);
    $("earlier").hidden = !frame.more;
    scroll.scrollTop += scroll.scrollHeight - height;
  },
  post(frame) {
    if (frame.message.kind === "post") $("typing").hidden = true;
    messages.put(frame.message);
  },
  edit(frame) {
    if (!messages.patch(frame)) link.send({ t: "open", thread: current, since: 0 });
    else $("typing").hidden = true;
  },
  receipt: (frame) => messages.receipt(frame),
  gone: (frame) => messages.remove(frame.id),
  typing() {
    $("typing").hidden = false;
    clearTimeout(typingTimer);
    typingTimer = setTimeout(() => ($("typing").hidden = true), 6000);
  },
  ok: (frame) => messages.settle(frame.id),
  error(frame) {
    messages.settle(frame.id);
    if (frame.item && frame.item.thread === current && !composer.text.value) composer.set(frame.item.text);
    toast(frame.text, true);
  },
  ack: (frame) => frame.mine && frame.text && toast(frame.text, frame.alert),
};

const OF_A_THREAD = new Set(["snapshot", "changes", "earlier", "post", "edit", "receipt", "gone", "typing"]);

function onFrame(frame) {
  if (OF_A_THREAD.has(frame.t) && frame.thread !== current) return;
  if (frame.seq && frame.t !== "earlier") seen = frame.seq;
  change(() => FRAMES[frame.t]?.(frame));
}

function onState(state) {
  const banner = $("banner");
  banner.hidden = state === "ready";
  if (state === "lost") banner.textContent = "Not connected. What you write is kept and sent when beambot is back.";
  if (state === "signed-out") banner.textContent = "This browser is signed out. Run “beambot web link” and open the link it prints.";
  if (state === "lost") showWaiting();
}

function drawer(open) {
  document.body.classList.toggle("open-side", open);
  $("shade").hidden = !open;
  $("menu").setAttribute("aria-expanded", String(open));
}

scroll.addEventListener("scroll", () => {
  pinned = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 48;
  $("jump").hidden = pinned;
}, { passive: true });
new ResizeObserver(() => pinned && (scroll.scrollTop = scroll.scrollHeight)).observe(scroll);
$("jump").addEventListener("click", () => {
  pinned = true;
  scroll.scrollTop = scroll.scrollHeight;
});
$("earlier").addEventListener("click", () => link.send({ t: "earlier", thread: current, before: String(messages.firstId) }));
$("new").addEventListener("click", () => choose(newId()));
$("stop").addEventListener("click", () => say("/stop"));
$("menu").addEventListener("click", () => drawer(true));
$("shade").addEventListener("click", () => drawer(false));
addEventListener("keydown", (event) => event.key === "Escape" && drawer(false));
addEventListener("hashchange", () => {
  const id = location.hash.slice(1);
  if (id !== current && /^[a-z0-9]{8,64}$/.test(id)) choose(id);
});
link.connect();
