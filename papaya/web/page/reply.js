// Answers to messages (+draft/reply of IRCv3). An answer names the msgid of its message, which is
// quoted above it.

import { spoken } from "./redact.js";
import { clean } from "./text.js";

/** tag names the message that is answered, or reacted to. */
export const tag = "+draft/reply";

const shown = 120; // characters of a quoted message

/** about is the msgid of the message that a line with these tags is about, or "". */
export const about = (tags) => tags.get(tag) ?? tags.get("+reply") ?? "";

/** answerable returns a test of messages of a room: whether one can be answered now. */
export function answerable(s, room) {
  if (!s.has("message-tags") || s.state !== "ready" || room === s.status)
    return () => false;
  if (room.isChannel && !room.joined) return () => false;
  return (m) => Boolean(m.id) && spoken(m);
}

/** take takes the msgid of the message that the next one answers out of a room. */
export function take(s, room) {
  const id = s.has("message-tags") ? room.reply?.id : "";
  room.reply = null;
  return id ?? "";
}

/** quote is a message in one line; undefined is one that the page does not have. */
export function quote(m) {
  if (!m) return "an earlier message";
  const text = clean(m.text).replace(/\s+/g, " ");
  const part = text.length > shown ? `${text.slice(0, shown)}…` : text;
  return m.nick ? `${clean(m.nick)}: ${part}` : part;
}

/** showQuote puts the quote of the message that m answers above its text. */
export function showQuote(li, m, original) {
  const words = m.reply ? quote(original) : "";
  if ((li.quote?.textContent ?? "") === words) return;
  li.quote?.remove();
  li.quote = null;
  if (!words) return;
  li.quote = document.createElement("button");
  li.quote.type = "button";
  li.quote.className = "quoted";
  li.quote.textContent = words;
  li.insertBefore(li.quote, li.querySelector(":scope > .text"));
}
