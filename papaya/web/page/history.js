// Pages of history (draft/chathistory): batches of messages in the server's order.

import { changeIn, isEdit, revise } from "./edit.js";
import { message } from "./message.js";
import { askAround, isPast, notThere, pastPage } from "./past.js";
import { previewed, withdrawnPreview } from "./preview.js";
import { reacted } from "./react.js";
import { isOfPreview, noteOf, redact, spoken } from "./redact.js";
import { maxPages } from "./room.js";
import { found } from "./search.js";

/** past puts a page of history in. */
export function past(s, batch) {
  if (/targets/.test(batch.type)) {
    for (const { params } of batch.lines) {
      const name = params[1] ?? "";
      if (name && !s.isChannel(name)) s.catchUp(s.open(name));
    }
    return;
  }
  if (/search/.test(batch.type)) {
    found(s, messages(s, batch));
    return;
  }
  const room = s.find(batch.target);
  if (!room) return;
  const { asked } = room;
  if (!asked && s.searching?.room === room) {
    // some servers answer a search with a page of history
    found(s, messages(s, batch));
    return;
  }
  room.asked = "";
  if (isPast(asked)) {
    const put = (into, behind) => putPage(s, into, batch, behind);
    pastPage(s, room, asked, messages(s, batch), put, batch.lines.length);
    askAround(s, room);
    return;
  }
  const top = room.oldest();
  const known = room.read > 0 || asked === "after";
  const older = asked === "before";
  const behind = asked === "after" ? room.behind : undefined;
  const { fresh, last } = putPage(s, room, batch, behind);
  // What was said in a room before we came is read, and in a conversation what we have answered.
  let before = 0;
  for (const m of fresh.filter(spoken)) {
    if (m.own || room.isChannel) before = Math.max(before, m.time);
    if (!older && known) room.count(m);
  }
  // nor would the next page have anything older
  if (older && room.oldest() === top) room.whole = true;
  if (older && room.reading) room.part();
  if (asked === "after") turnPage(s, room, batch.lines, last ?? behind);
  if (asked === "latest" && !known) {
    room.read = before;
    room.looked = before > 0;
    room.recount();
  }
  if (!older) s.hooks.caughtUp?.(room);
  askAround(s, room);
}

/**
 * putPage merges a page into a room or its past. A line that removes a message that neither has is
 * a note, in its place.
 */
function putPage(s, room, batch, behind) {
  const lines = batch.lines.map((line) => ({ line, m: spokenIn(s, line) }));
  const named = new Set(lines.map(({ m }) => m?.id));
  const page = [];
  const removals = [];
  const changes = [];
  for (const { line, m } of lines) {
    if (m) page.push(m);
    if (m?.own && !room.has(m)) room.settle(m);
    if (isEdit(s, line)) changes.push(line);
    if (line.command === "TAGMSG" && !reacted(s, line)) previewed(s, line);
    if (line.command === "REDACT" && isOfPreview(line)) {
      withdrawnPreview(s, line.params[1]);
      continue;
    }
    if (!m && line.command !== "REDACT") page.push(...unseen(line));
    const id = line.command === "REDACT" && line.params[1];
    if (!id) continue;
    if (named.has(id) || room.known.has(id)) removals.push(line);
    else if (!room.gone.has(id)) page.push(noteOf(line));
    named.add(id);
  }
  const put = room.merge(page, behind);
  for (const m of page) revise(room, m); // it may be there with the text of before
  for (const line of changes) changeIn(s, room, line);
  for (const line of removals) redact(s, room, line);
  return put;
}

/**
 * unseen is what a room keeps of a line of a page that it does not show, such as a reaction. A page
 * may have nothing else, and the next one is asked for before or after it.
 */
function unseen({ tags, time, timed }) {
  const id = tags.get("msgid") ?? "";
  if (!id) return [];
  return [{ id, time, timed, told: true, nick: "", kind: "unseen", text: "" }];
}

/** turnPage asks for the next page of missed messages, if the last one was full. */
function turnPage(s, room, lines, behind) {
  const end = lines.at(-1);
  room.behind = null;
  if (!end || lines.length < s.limit()) return;
  if (++room.pages < maxPages) {
    s.after(room, { id: end.tags.get("msgid") ?? "", time: end.time }, behind);
    return;
  }
  const text = "More was said here than is shown: the rest is on the server.";
  room.insert({ time: end.time, nick: "", kind: "error", text }, behind);
}

/** spokenIn is the message of a line of a page, if it is one. A change of one is none. */
function spokenIn(s, line) {
  s.timed(line);
  if (!/^(PRIVMSG|NOTICE)$/.test(line.command) || isEdit(s, line))
    return undefined;
  return message(s, line)?.m;
}

/** messages are those of a batch. */
const messages = (s, batch) =>
  batch.lines.map((line) => spokenIn(s, line)).filter(Boolean);

/** missed asks again by time when the server does not know the msgid any more. */
export function missed(s, room) {
  if (!room) return;
  const { asked, from } = room;
  room.asked = "";
  if (asked === "after" && from?.id)
    s.after(room, { id: "", time: from.time }, room.behind);
  else if (asked === "after") room.behind = null;
  else if (asked === "around" || asked === "past-after") notThere(s, room);
  else if (asked === "past-before" && room.past) room.past.whole = true;
  else room.whole = true;
  askAround(s, room);
}
