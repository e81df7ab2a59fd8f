// The messages of a room as nodes of the page. Each message has one node as long as it is drawn. A
// change moves only nodes that are out of place.

import { attach } from "./files.js";
import { dress } from "./person.js";
import { showPreviews } from "./preview.js";
import { showReactions } from "./react.js";
import { showQuote } from "./reply.js";
import { isAlone, isRule } from "./rows.js";
import { clean, nodes } from "./text.js";

const foldFrom = 14; // lines: a message with more is folded
const folded = 10; // lines of a folded message
const foldChars = 1000; // and characters
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
 * draw makes the list show the rows from first to before end. how has what may be done with a
 * message, filehost, the URL to which files are posted, if the server takes some, previews of
 * messages, by msgid, if they are to be shown, and reactions; mine says whether a nick is the
 * user's, find has a message by its msgid, and whole says that there are no older messages.
 */
export function draw(list, rows, { first, end }, how) {
  const focused = list.contains(document.activeElement)
    ? document.activeElement.closest("li")
    : null;
  const want = [];
  for (let at = first; at < end; at++) {
    const row = rows[at];
    const li = isRule(row) ? rule(list, row) : said(row, rows[at - 1], how);
    attribute(li, "aria-posinset", at + 1);
    attribute(li, "aria-setsize", how.whole ? rows.length : -1); // -1: not known
    want.push(li);
  }
  place(list, want);
  if (!focused || list.contains(document.activeElement)) return;
  // the focus was in what is not drawn any more, or was made anew
  const anew = nodeOf(focused.message) ?? list.parentElement;
  anew.focus({ preventScroll: true });
}

function attribute(li, name, value) {
  if (li.getAttribute(name) !== String(value)) li.setAttribute(name, value);
}

/** said is the node of a message, as it is now. */
function said(m, before, how) {
  const { mayDelete, mayReport, mayAnswer, mayEdit } = how;
  const deletable = mayDelete(m);
  const answers = mayAnswer(m);
  const li = node(m, isAlone(m, before), how.filehost);
  const gone = m.kind === "deleted" || !m.id;
  showQuote(li, m, m.reply ? how.find(m.reply) : undefined);
  showPreviews(li, gone ? undefined : how.previews?.get(m.id), deletable);
  const reactions = gone ? undefined : how.reactions.get(m.id);
  showReactions(li, reactions, how.mine, answers);
  offer(li, m, [
    ...(answers ? ["reply", "react"] : []),
    ...(mayEdit(m) ? ["edit"] : []),
    ...(mayReport(m) ? ["report"] : []),
    ...(deletable ? ["delete"] : []),
  ]);
  return li;
}

function place(list, want) {
  const wanted = new Set(want);
  for (const child of [...list.children]) {
    if (wanted.has(child)) continue;
    child.remove();
    // the message may stay for long, its node need not
    if (made.get(child.message) === child) made.delete(child.message);
  }
  let at = list.firstElementChild;
  for (const item of want) {
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
  }
}

/** rule is the node of a line between messages, which is kept by its key so that it stays. */
function rule(list, { kind, key, time }) {
  const old = [...list.querySelectorAll(`:scope > .${kind}`)].find(
    (n) => n.dataset.key === key,
  );
  if (old) return old;
  const li = document.createElement("li");
  li.className = kind;
  li.dataset.key = key;
  const span = document.createElement("span");
  span.textContent = kind === "day" ? day.format(time) : "New";
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
  li.tabIndex = -1;
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
