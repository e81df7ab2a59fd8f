// A message that a search has found may be far older than what a room has. The room then shows a
// part of its history apart from the newest messages, until scrolling joins the two.

/**
 * seek shows a message among those around it. hooks.shown(room, message) is the answer. It returns
 * false if the room does not have the message, and the server has no history.
 */
export function seek(s, room, m) {
  const there = room.past?.find(m.id);
  if (there) {
    s.hooks.shown(room, there);
    return true;
  }
  const here = room.find(m.id);
  if (here) {
    room.latest();
    s.hooks.shown(room, here);
    return true;
  }
  if (!s.history() || s.state !== "ready") return false;
  room.seek = m;
  askAround(s, room);
  return true;
}

/** askAround requests the messages around the wanted one, when nothing else is requested. */
export function askAround(s, room) {
  if (!room.seek || room.asked || !s.history() || s.state !== "ready") return;
  s.ask(room, "around", "AROUND", s.reference(room.seek));
}

/** newer requests the messages after the part of the history that is shown. */
export function newer(s, room) {
  const last = room.past?.newest();
  if (!last || room.asked || s.state !== "ready") return;
  s.ask(room, "past-after", "AFTER", s.reference(last, -1));
}

/** isPast says whether a request was about the part that is shown. */
export const isPast = (asked) => /^(around|past-)/.test(asked);

/**
 * pastPage adds a page to the part of the history that is shown, by put(into, behind). page are
 * its messages; lines is how many lines it had.
 */
export function pastPage(s, room, asked, page, put, lines) {
  const wanted = room.seek;
  const around = asked === "around";
  if (around ? !wanted : !room.past) return; // the user has gone back to the newest
  if (around) {
    room.past = room.apart();
    room.seek = null;
  }
  const { past } = room;
  const top = past.oldest();
  put(past, asked === "past-after" ? past.newest() : undefined);
  if (asked === "past-before" && past.oldest() === top) past.whole = true;
  const ends = asked === "past-after" && lines < s.limit();
  if (ends || page.some((m) => room.has(m))) room.join();
  if (asked === "past-before") past.cut();
  else past.trim(past.most);
  if (!around) return;
  const here = (room.past ?? room).find(wanted.id);
  if (here) s.hooks.shown(room, here);
  else notThere(s, room);
}

/** notThere goes back to the newest messages: the server does not have what is wanted. */
export function notThere(s, room) {
  room.latest();
  s.note(s.active, "This message is not there any more.", "error");
}
