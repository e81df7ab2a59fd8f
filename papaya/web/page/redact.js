// Redaction (draft/message-redaction of IRCv3). A deleted message is replaced by a note in its
// place, so its text is in memory no more. If the room does not have the message, the note stands
// where the REDACT is: histories have only that.

import { nickOf } from "./irc.js";
import { cap as previewCap, withdrawnPreview } from "./preview.js";
import { withdrawnReaction } from "./react.js";
import { withdrawn } from "./search.js";

const cap = "draft/message-redaction";

/** spoken says whether somebody has said the message. */
export const spoken = (m) => /^(message|action|notice)$/.test(m.kind);

/**
 * deletable returns a test of messages of a room: whether the server is likely to delete one for
 * us. It deletes our own, and for an operator of the room any. The server decides.
 */
export function deletable(s, room) {
  if (!s.has(cap) || s.state !== "ready") return () => false;
  const prefix = room.members.get(s.fold(s.nick))?.prefix ?? "";
  const operator = room.isChannel && prefix !== "" && prefix !== "+";
  return (m) => Boolean(m.id) && spoken(m) && (m.own || operator);
}

/** askToDelete asks the server to delete a message. */
export function askToDelete(s, room, m, why) {
  s.send("REDACT", room.name, m.id, ...(why ? [why] : []));
}

/** redacted is called for a REDACT: somebody has deleted a message. */
export function redacted(s, line) {
  if (isOfPreview(line)) {
    withdrawnPreview(s, line.params[1]);
    return;
  }
  const target = line.params[0] ?? "";
  const nick = nickOf(line.source);
  const room = s.find(s.isChannel(target) || s.isMe(nick) ? target : nick);
  withdrawn(s, line.params[1]);
  if (!room) return;
  redact(s, room, line);
  if (room.past?.find(line.params[1])) redact(s, room.past, line);
}

/** isOfPreview says whether a REDACT names a preview, and not a message. */
export const isOfPreview = (line) => line.tags.has(previewCap);

/** redact deletes the message that a REDACT names. */
export function redact(s, room, line) {
  const id = line.params[1];
  if (!id) return;
  s.previews?.delete(id);
  room.reactions.delete(id);
  if (withdrawnReaction(room, id)) return;
  if (room.known.has(id)) {
    const m = room.find(id);
    if (!spoken(m)) return; // it is a note already
    makeNote(m, textOf(line));
    room.recount();
    s.hooks.deleted?.(room, m);
    return;
  }
  if (!room.gone.has(id)) room.add(noteOf(line));
}

/** noteOf is the note for a REDACT of a message that the room does not have. */
export const noteOf = (line) => ({
  id: line.tags.get("msgid") ?? "",
  time: line.time,
  timed: line.timed,
  told: true,
  nick: "",
  kind: "deleted",
  text: textOf(line),
  of: line.params[1],
});

/** textOf is the text of a note. */
function textOf({ source, params }) {
  const why = (params[2] ?? "").trim();
  return `Message deleted by ${nickOf(source)}${why ? `: ${why}` : ""}`;
}

/** makeNote makes a message the note that it was deleted. */
export function makeNote(m, text) {
  Object.assign(m, { kind: "deleted", nick: "", text, own: false, reply: "" });
  m.mention = m.pending = m.failed = false;
}
