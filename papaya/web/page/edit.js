// Changes of messages by their authors (the capability draft/message-edit). A line with the tag
// +draft/edit has the new text of the message that the tag names. A history has the newest text in
// the message's own place, and a line for each change behind it.

import { message, roomOf } from "./message.js";
import { spoken } from "./redact.js";
import { revisedHit } from "./search.js";

export const cap = "draft/message-edit";

/** tag names the message whose new text a line has. */
export const tag = "+draft/edit";

/** shorter is by how many bytes a line is shorter than others: some are sent "* " with it. */
export const shorter = 2;

/** isEdit says whether a line changes a message. Servers without edits pass the tag on as any. */
export const isEdit = (s, line) => s.has(cap) && line.tags.has(tag);

/** editable returns a test of messages of a room: whether the server may change one for us. */
export function editable(s, room) {
  const here = room !== s.status && (!room.isChannel || room.joined);
  if (!s.has(cap) || !s.has("message-tags") || s.state !== "ready" || !here)
    return () => false;
  return (m) => Boolean(m.id) && spoken(m) && m.own;
}

/** edited is called for a line with the new text of a message. */
export function edited(s, line) {
  const room = roomOf(s, line);
  if (room) changeIn(s, room, line);
}

/** changeIn gives a message of a room, or of the part of its history that is shown, a new text. */
export function changeIn(s, room, line) {
  const made = message(s, line);
  if (!made) return;
  const news = { ...made.m, id: line.tags.get(tag), edited: line.time };
  for (const part of [room, room.past]) if (part) revise(part, news);
  revisedHit(s, news);
}

/** revise gives the message that a room has the text of news, unless it has that or a later one. */
export function revise(room, news) {
  const m = room.find(news.id);
  if (!m || !spoken(m) || !news.edited) return;
  m.changing = "";
  if ((m.edited ?? 0) > news.edited) return;
  const { text, kind, edited: time } = news;
  Object.assign(m, { text, kind, edited: time });
}

/** begin has the user change a message in the box, in place of what was written there. */
export function begin(room, m) {
  if (!room.editing) room.kept = room.draft ?? "";
  room.editing = m;
  room.reply = null;
  room.draft = m.text;
}

/** end has the box as it was before. */
export function end(room) {
  if (!room.editing) return;
  room.editing = null;
  room.draft = room.kept;
  room.kept = "";
}

/** refused is called for what the server refuses; it says whether that was a change. */
export function refused(s, label) {
  if (!label) return false;
  for (const room of s.rooms.values())
    for (const m of [...room.messages, ...(room.past?.messages ?? [])])
      if (m.changing === label) {
        m.changing = "";
        return true;
      }
  return false;
}

/** doubtful forgets the changes whose fate is unknown; it says whether there were any. */
export function doubtful(room) {
  const list = room.messages.filter((m) => m.changing);
  for (const m of list) m.changing = "";
  return list.length > 0;
}
