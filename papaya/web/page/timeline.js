// The messages of a room as nodes of the page. Each message has one node as long as it is shown. A
// change moves only nodes that are out of place, so a room may have thousands.

import { attach } from "./files.js";
import { dress } from "./person.js";
import { showPreviews } from "./preview.js";
import { showReactions } from "./react.js";
import { spoken } from "./redact.js";
import { showQuote } from "./reply.js";
import { clean, nodes } from "./text.js";

const foldFrom = 14; // lines: a message with more is folded
const folded = 10; // lines of a folded message
const foldChars = 1000; // and characters
const together = 5 * 60_000; // ms: messages of one user within this time are under one nick
const made = new WeakMap(); // message -> its node

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const full = new Intl.DateTimeFormat(undefined, {
  dateStyle: "full",
  timeStyle: "medium",
});
const day = new Intl.DateTimeFormat(undefined, {
  weekday: "long",
  day: "numeric",
  month: "long",
  year: "numeric",
});

/**
 * draw makes the list show the messages; unreadFrom is the time after which they are new, filehost
 * the URL to which files are posted, if the server takes some, and previews those of messages, by
 * msgid, if they are to be shown. So are reactions; mine says whether a nick is the user's.
 */
export function draw(list, messages, how) {
  const { unreadFrom, quiet, mayDelete, mayReport, mayAnswer, mayEdit } = how;
  const { filehost, previews, reactions, mine } = how;
  let byID; // msgid -> message
  const original = (id) => {
    byID ??= new Map(messages.map((m) => [m.id, m]));
    return byID.get(id);
  };
  const want = [];
  const days = new Map(); // key -> how often it was there
  let before = null;
  let marked = unreadFrom <= 0;
  for (const m of messages) {
    if ((quiet && m.kind === "event") || m.kind === "unseen") continue;
    const newDay = !before || dayOf(before.time) !== dayOf(m.time);
    if (newDay) {
      // a day comes twice if the server's clock was set back
      const key = `day ${dayOf(m.time)}`;
      const times = (days.get(key) ?? 0) + 1;
      days.set(key, times);
      want.push(line(list, `${key} ${times}`, "day", day.format(m.time)));
    }
    const fresh = !marked && spoken(m) && !m.own && m.time > unreadFrom;
    if (fresh) {
      marked = true;
      want.push(line(list, "new", "new", "New"));
    }
    const alone =
      newDay ||
      fresh ||
      !before ||
      before.nick !== m.nick ||
      m.kind !== "message" ||
      before.kind !== "message" ||
      m.time - before.time > together;
    const deletable = mayDelete(m);
    const answers = mayAnswer(m);
    const li = node(m, alone, filehost);
    const gone = m.kind === "deleted" || !m.id;
    showQuote(li, m, m.reply ? original(m.reply) : undefined);
    showPreviews(li, gone ? undefined : previews?.get(m.id), deletable);
    showReactions(li, gone ? undefined : reactions.get(m.id), mine, answers);
    offer(li, m, [
      ...(answers ? ["reply", "react"] : []),
      ...(mayEdit(m) ? ["edit"] : []),
      ...(mayReport(m) ? ["report"] : []),
      ...(deletable ? ["delete"] : []),
    ]);
    want.push(li);
    before = m;
  }
  place(list, want);
}

function place(list, want) {
  const wanted = new Set(want);
  for (const child of [...list.children])
    if (!wanted.has(child)) child.remove();
  let at = list.firstElementChild;
  for (const item of want) {
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
  }
}

/** line is a separator, which is kept by its key so that it stays where it is. */
function line(list, key, className, text) {
  const old = [...list.querySelectorAll(`:scope > .${className}`)].find(
    (n) => n.dataset.key === key,
  );
  if (old) return old;
  const li = document.createElement("li");
  li.className = className;
  li.dataset.key = key;
  const span = document.createElement("span");
  span.textContent = text;
  li.append(span);
  return li;
}

/** nodeOf is the node of a message; undefined if it is not drawn. */
export const nodeOf = (m) => made.get(m);

/** messageOf is the message of a node; undefined if it has none. */
export const messageOf = (li) => li?.message;

function node(m, alone, filehost) {
  let li = made.get(m);
  const deleted = m.kind === "deleted" && !li?.classList.contains("deleted");
  const changed = li && (li.text !== m.text || li.edited !== m.edited);
  if (!li || deleted || changed) made.set(m, (li = make(m, filehost)));
  const classes = [
    "line",
    m.kind,
    alone && "alone",
    m.own && "own",
    m.mention && "mention",
    ((m.pending && !m.failed) || m.changing) && "pending",
    m.failed && "failed",
  ];
  const className = classes.filter(Boolean).join(" ");
  if (li.className !== className) li.className = className;
  if (m.failed && !li.querySelector(".why")) {
    const why = document.createElement("span");
    why.className = "why";
    why.textContent = " (not known to have arrived)";
    li.querySelector(".text").append(why);
  }
  return li;
}

/** fill puts the text of a message in, the beginning of it if it is long and not opened. */
function fill(text, m, filehost) {
  const lines = m.text.split("\n");
  const long = lines.length > foldFrom || m.text.length > 1.5 * foldChars;
  if (!long) {
    text.replaceChildren(...nodes(m.text));
    markEdited(text, m);
    attach(text, m, filehost);
    return;
  }
  const head = lines.slice(0, folded).join("\n").slice(0, foldChars);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fold";
  button.setAttribute("aria-expanded", String(Boolean(m.opened)));
  const all =
    lines.length > foldFrom ? `all ${lines.length} lines` : "the whole message";
  button.textContent = m.opened ? "Show less" : `Show ${all}`;
  button.addEventListener("click", () => {
    m.opened = !m.opened;
    fill(text, m, filehost);
    text.querySelector(".fold").focus();
  });
  text.replaceChildren(...nodes(m.opened ? m.text : head), button);
  markEdited(text, m);
  attach(text, m, filehost);
}

/** markEdited says behind a text that it is not the first one of its message. */
function markEdited(text, m) {
  if (!m.edited) return;
  const mark = document.createElement("span");
  mark.className = "edited";
  mark.textContent = " (edited)";
  mark.title = `Edited ${full.format(m.edited)}`;
  text.append(mark);
}

/** tools are the names of the buttons of a message, and what they do to it. */
const tools = {
  reply: ["Reply", "Reply to"],
  react: ["React", "React to"],
  edit: ["Edit", "Edit"],
  report: ["Report", "Report"],
  delete: ["Delete", "Delete"],
};

/** offer gives a message the buttons of these names, and takes all others away. */
function offer(li, m, names) {
  const key = names.join(" ");
  if ((li.tools?.dataset.key ?? "") === key) return;
  li.tools?.remove();
  li.tools = null;
  if (!key) return;
  li.tools = document.createElement("div");
  li.tools.className = "tools";
  li.tools.dataset.key = key;
  for (const name of names) li.tools.append(lineButton(m, name));
  li.append(li.tools);
}

/** lineButton is a button of a message. */
function lineButton(m, name) {
  const [word, what] = tools[name];
  const button = document.createElement("button");
  button.type = "button";
  button.className = name;
  button.textContent = word;
  button.setAttribute(
    "aria-label",
    `${what} the message of ${clean(m.nick)}, ${clock.format(m.time)}`,
  );
  return button;
}

function make(m, filehost) {
  const li = document.createElement("li");
  li.message = m;
  li.text = m.text;
  li.edited = m.edited;
  const time = document.createElement("time");
  time.dateTime = new Date(m.time).toISOString();
  time.textContent = clock.format(m.time);
  time.title = full.format(m.time);
  const text = document.createElement("div");
  text.className = "text";
  if (!m.nick) {
    text.append(...nodes(m.text));
    li.append(time, text);
    return li;
  }
  const nick = document.createElement("span");
  nick.className = `nick ${hue(m.nick)}`;
  nick.textContent = clean(m.nick);
  const face = document.createElement("span");
  face.className = `face ${hue(m.nick)}`;
  face.setAttribute("aria-hidden", "true");
  face.textContent = [...clean(m.nick)][0]?.toUpperCase() ?? "?";
  if (m.kind === "action") {
    text.append(nick, " ", ...nodes(m.text));
    markEdited(text, m);
  } else fill(text, m, filehost);
  li.append(
    ...(m.kind === "action" ? [face, time, text] : [face, nick, time, text]),
  );
  dress(li);
  return li;
}

/** hue gives each nick one of the twelve colours of the style sheet, always the same. */
export function hue(nick) {
  let h = 0;
  for (const c of nick.toLowerCase()) h = (h * 31 + c.codePointAt(0)) >>> 0;
  return `hue-${h % 12}`;
}

const dayOf = (time) => new Date(time).toDateString();
