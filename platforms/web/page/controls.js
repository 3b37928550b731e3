// Buttons and forms of a message. Each is off while its answer is on the way.
import { el, icon } from "./dom.js";

export function drawControls(rest, act) {
  if (!rest.form && !rest.buttons.some((row) => row.length)) return null;
  const box = el("div", { class: "controls" });
  const send = (frame, button) => {
    const all = [...box.querySelectorAll("button, textarea, input")];
    for (const control of all) control.disabled = true;
    const spinner = icon("spin", "spin");
    button.prepend(spinner);
    act(frame, () => {
      spinner.remove();
      for (const control of all) control.disabled = false;
    });
  };
  if (rest.form) box.append(drawForm(rest.form, send));
  for (const row of rest.buttons) {
    const line = el("div", { class: "line" });
    for (const button of row) {
      const control = el("button", { type: "button", class: `action ${button.style}` }, el("span", {}, button.label));
      control.addEventListener("click", () => send({ t: "press", data: button.data }, control));
      line.append(control);
    }
    if (row.length) box.append(line);
  }
  return box;
}

function drawForm(form, send) {
  const fields = form.fields.map((field, index) => ({ field, name: `f${index}` }));
  const submit = el("button", { type: "submit", class: "action primary" }, el("span", {}, form.submit));
  const box = el("form", { class: "fields", autocomplete: "off" }, ...fields.map(drawField), el("div", { class: "line" }, submit));
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new FormData(box);
    const values = {};
    for (const { field, name } of fields) values[field.id] = data.getAll(name).map(String).filter((value) => value !== "");
    send({ t: "form", data: form.data, fields: values }, submit);
  });
  return box;
}

function drawField({ field, name }) {
  const help = field.help ? el("span", { class: "help" }, field.help) : null;
  if (field.kind === "text") {
    const rows = String(Math.min(Math.max(field.value.split("\n").length, 2), 14));
    const input = field.secret ? el("input", { type: "password", name, autocomplete: "off" }) : el("textarea", { name, rows });
    if (field.value) {
      input.value = field.value;
      input.classList.add("code");
      input.spellcheck = false;
    }
    return el("label", { class: "field" }, el("span", { class: "label" }, field.label), input, help);
  }
  const type = field.kind === "choice" ? "radio" : "checkbox";
  const options = field.options.map(([value, label]) => el("label", { class: "option" }, el("input", { type, name, value }), el("span", {}, label)));
  return el("fieldset", {}, el("legend", {}, field.label), ...options, help);
}
