// The page: one person, one chat, what stands in it, and what that person does.
import { content, node } from "/page/render.js";

const $ = (id) => document.getElementById(id);
const here = { person: 0, chat: 0, topic: 0, reply: null, state: null, shown: new Map() };

async function act(name, fields) {
  const body = JSON.stringify({ person: here.person, chat: here.chat, topic: here.topic, ...fields });
  const answer = await fetch(`/act/${name}`, { method: "POST", body });
  const result = answer.ok ? await answer.json() : { error: await answer.text() };
  if (result.error) toast(result.error, true);
  return result;
}

function toast(text, bad = false) {
  const made = node("p", bad ? "toast bad" : "toast", text);
  $("toasts").append(made);
  setTimeout(() => made.remove(), 4000);
}

// ── what stands ──────────────────────────────────────────────────────────────────────────────────

let loading = false;
let again = false;

async function load() {
  if (loading) { again = true; return; }
  loading = true;
  try {
    const answer = await fetch(`/state?person=${here.person}&chat=${here.chat}&topic=${here.topic}`);
    if (answer.ok) draw(await answer.json());
  } catch { /* the stream of events says when the server is back */ } finally {
    loading = false;
    if (again) { again = false; load(); }
  }
}

function draw(state) {
  const moved = state.person !== here.person || state.chat !== here.chat || state.topic !== here.topic;
  Object.assign(here, { person: state.person, chat: state.chat, topic: state.topic, state });
  drawPlaces(state);
  const scroll = $("scroll");
  const atEnd = moved || scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  drawMessages(state, moved);
  if (atEnd) scroll.scrollTop = scroll.scrollHeight;
}

function drawPlaces(state) {
  const person = $("person");
  const options = state.people.map((one) => {
    const made = node("option", "", one.name);
    made.value = one.id;
    made.selected = one.id === state.person;
    return made;
  });
  if (document.activeElement !== person) person.replaceChildren(...options);
  $("chats").replaceChildren(...state.chats.map((chat) => {
    const open = chat.id === state.chat;
    const item = node("li", "", place(chat.name, chat.last, open && !state.topic, chat.id, 0));
    if (open || chat.topics.length) {
      item.append(...chat.topics.map((topic) =>
        place(`# ${topic.name}`, topic.closed ? "closed" : "", open && topic.id === state.topic, chat.id, topic.id)));
    }
    return item;
  }));
  const chat = state.chats.find((one) => one.id === state.chat);
  const topic = chat?.topics.find((one) => one.id === state.topic);
  $("name").textContent = topic ? `${chat.name} # ${topic.name}` : chat ? chat.name : "";
  $("status").textContent = state.typing ? "typing…" : chat && chat.type !== "private" ? chat.type : "bot";
  $("more").hidden = !chat?.has_topics;
}

function place(name, last, open, chat, topic) {
  const made = node("button", topic ? "place topic" : "place", node("b", "", name), node("small", "", last));
  made.type = "button";
  if (open) made.setAttribute("aria-current", "true");
  made.addEventListener("click", () => go(chat, topic));
  return made;
}

function go(chat, topic) {
  Object.assign(here, { chat, topic });
  reply(null);
  here.shown.clear();
  $("messages").replaceChildren();
  menu(false);
  load();
}

// A message is drawn anew only when it has changed.
function drawMessages(state, moved) {
  const list = $("messages");
  if (moved) { here.shown.clear(); list.replaceChildren(); }
  const wanted = [...state.messages.map((one) => [`m${one.id}`, one, message]),
    ...state.drafts.map((one) => [`d${one.id}`, one, draft])];
  const keys = new Set(wanted.map(([key]) => key));
  for (const [key, old] of here.shown) if (!keys.has(key)) { old.node.remove(); here.shown.delete(key); }
  let at = list.firstChild;
  for (const [key, one, draws] of wanted) {
    const face = JSON.stringify(one);
    const old = here.shown.get(key);
    const next = old && old.node === at;
    if (old?.face !== face) {
      const made = draws(one);
      if (old) old.node.replaceWith(made);
      if (next) at = made;
      here.shown.set(key, { face, node: made });
    }
    const { node: now } = here.shown.get(key);
    if (now === at) at = at.nextSibling;
    else list.insertBefore(now, at);
  }
}

function message(one) {
  if (one.service) return node("li", "service", `${one.who} ${one.service}`);
  const mine = one.sender === here.person;
  const made = node("li", mine ? "message mine" : "message");
  const bubble = node("div", "bubble");
  if (!mine) bubble.append(node("span", "author", one.who));
  if (one.reply) bubble.append(node("div", "quoted", node("b", "", one.reply.who), ` ${one.reply.text}`));
  const time = new Date(one.at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const answer = node("button", "answer", "↩");
  answer.type = "button";
  answer.setAttribute("aria-label", "Reply");
  answer.addEventListener("click", () => reply(one));
  bubble.append(...content(one), node("span", "time", `${one.edited ? "edited " : ""}${time}`, answer));
  made.append(bubble);
  if (one.reactions.length) made.append(node("div", "reactions", one.reactions.join(" ")));
  made.append(...one.keyboard.map((row, r) => node("div", "keys", ...row.map((key, c) => button(one, key, r, c)))));
  return made;
}

function draft(one) {
  const made = node("li", "message draft", node("div", "bubble", ...content(one)));
  if (one.can_stop) {
    const stop = node("button", "key", "Stop");
    stop.type = "button";
    stop.addEventListener("click", () => act("stop", {}));
    made.append(node("div", "keys", stop));
  }
  return made;
}

function button(one, key, row, column) {
  const made = node("button", `key ${["primary", "success", "danger"].includes(key.style) ? key.style : ""}`, key.text);
  made.type = "button";
  made.addEventListener("click", async () => {
    if (key.copy) { await navigator.clipboard?.writeText(key.copy); toast("Copied"); return; }
    if (key.url) { if (/^https?:/i.test(key.url)) window.open(key.url, "_blank", "noopener,noreferrer"); return; }
    made.disabled = true;
    const answer = await act("press", { message: one.id, row, column });
    made.disabled = false;
    if (!answer.toast) return;
    if (!answer.alert) { toast(answer.toast); return; }
    $("alert").querySelector("p").textContent = answer.toast;
    $("alert").showModal();
  });
  return made;
}

// ── what the person does ─────────────────────────────────────────────────────────────────────────

function reply(one) {
  here.reply = one;
  $("answering").hidden = !one;
  if (one) {
    $("answering").querySelector("span").textContent = `Reply to ${one.who}: ${one.text.slice(0, 60)}`;
    $("text").focus();
  }
}

async function say() {
  const text = $("text").value;
  if (!text.trim()) return;
  $("text").value = "";
  grow();
  const result = await act("say", { text, message: here.reply ? here.reply.id : 0 });
  if (result.error) $("text").value = text; else reply(null);
}

function grow() {
  const text = $("text");
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight, 160)}px`;
  const typed = /^\/(\w*)$/.exec(text.value);
  const found = typed && here.state ? here.state.commands.filter((one) => one.command.startsWith(typed[1])) : [];
  $("hints").hidden = !found.length;
  $("hints").replaceChildren(...found.slice(0, 8).map((one) => {
    const made = node("button", "", node("b", "", `/${one.command}`), ` ${one.description}`);
    made.type = "button";
    made.addEventListener("click", () => { text.value = `/${one.command}`; grow(); text.focus(); });
    return node("li", "", made);
  }));
}

function menu(open) {
  document.body.classList.toggle("menu", open);
  $("menu").setAttribute("aria-expanded", String(open));
}

$("composer").addEventListener("submit", (event) => { event.preventDefault(); say(); });
$("text").addEventListener("input", grow);
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); say(); }
});
$("answering").querySelector("button").addEventListener("click", () => reply(null));
$("menu").addEventListener("click", () => menu(!document.body.classList.contains("menu")));
document.addEventListener("keydown", (event) => { if (event.key === "Escape") menu(false); });
$("person").addEventListener("change", () => { here.person = Number($("person").value); $("person").blur(); go(0, 0); });
$("more").addEventListener("click", async () => {
  const name = prompt("Name of the topic");
  if (name === null) return;
  const made = await act("topic", { text: name });
  if (made.topic) go(here.chat, made.topic);
});
$("file").addEventListener("change", async () => {
  const [file] = $("file").files;
  if (!file) return;
  const form = new FormData();
  form.append("file", file);
  const where = new URLSearchParams({ person: here.person, chat: here.chat, topic: here.topic, caption: $("text").value });
  const answer = await fetch(`/upload?${where}`, { method: "POST", body: form });
  const result = answer.ok ? await answer.json() : { error: await answer.text() };
  if (result.error) toast(result.error, true); else { $("text").value = ""; grow(); }
  $("file").value = "";
});

const events = new EventSource("/events");
events.onmessage = load;
events.onopen = () => { $("banner").hidden = true; };
events.onerror = () => { $("banner").hidden = false; $("banner").textContent = "Not connected. Is the simulation running?"; };
