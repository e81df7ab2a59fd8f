// Rooms get other names (draft/channel-rename of IRCv3). The room of the session stays the same,
// with its messages and what is unread. A server may also tell the name of a room when its former
// one is joined.

import { nickOf } from "./irc.js";

/** renamed is called for a RENAME: a room that we are in has another name. */
export function renamed(s, { source, params, time }) {
  const [from = "", to = "", why = ""] = params;
  if (!s.find(from) || !s.isChannel(from) || !s.isChannel(to)) return;
  const key = unwant(s, from);
  const room = move(s, from, to);
  if (key !== null && !wanted(s, to)) s.wants.set(to, key);
  const reason = why ? `: ${why}` : "";
  s.note(
    room,
    `${nickOf(source)} renamed the room from ${from} to ${to}${reason}`,
    "event",
    time,
  );
  s.hooks.moved?.(room);
}

/** follow is called for a room that we want to join, and that has another name. */
export function follow(s, from = "", to = "") {
  if (!s.isChannel(from) || !s.isChannel(to) || s.fold(from) === s.fold(to))
    return;
  const key = unwant(s, from) ?? "";
  if (s.find(from)) move(s, from, to);
  s.note(s.active, `${from} is now ${to}`);
  const going = s.goTo === s.fold(from);
  if (going) s.goTo = s.fold(to);
  const room = s.find(to);
  if (!room?.joined) s.join(to, key);
  else if (going) {
    s.goTo = "";
    s.look(room);
  }
}

/**
 * move gives a room its other name, and returns it. If we have a room of that name, which we are
 * in, that is the one which stays: the server has brought it.
 */
function move(s, from, to) {
  const room = s.find(from);
  const there = s.find(to);
  s.rooms.delete(s.fold(from));
  if (there && there !== room && there.joined) {
    if (s.active === room) s.active = there;
    return there;
  }
  room.name = to;
  s.rooms.set(s.fold(to), room);
  return room;
}

const wanted = (s, name) =>
  [...s.wants.keys()].some((w) => s.fold(w) === s.fold(name));

/**
 * unwant removes a room from those that are joined after a reconnect. It returns its key, or null
 * if it was not among them.
 */
export function unwant(s, name) {
  let key = null;
  for (const [w, k] of [...s.wants])
    if (s.fold(w) === s.fold(name)) {
      key = k;
      s.wants.delete(w);
    }
  return key;
}
