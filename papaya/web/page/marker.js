// Read markers (draft/read-marker of IRCv3) say up to which time the user has read a room. All
// devices of an account share them, so a message that was read on one is unread on none.

const cap = "draft/read-marker";

/** again is the time in ms after which a refused marker is sent again. A guess. */
const again = 60_000;

/**
 * marker takes the marker of a room. A server may tell one from the future, which must not hide
 * what is said from now on.
 */
export function marker(s, { params }) {
  const room = s.find(params[0] ?? "");
  const told = /^timestamp=(.+)$/.exec(params[1] ?? "");
  const time = Date.parse(told?.[1] ?? "");
  if (!room || Number.isNaN(time)) return; // there is none yet: *
  const at = Math.min(time, Math.max(s.now(), room.newest()?.time ?? 0));
  room.marked = Math.max(room.marked, at);
  if (at <= room.read) return;
  room.read = at;
  room.recount();
  s.hooks.readElsewhere?.(room);
}

/** askMarker asks for the marker of a conversation. Those of rooms come with a JOIN. */
export function askMarker(s, room) {
  if (s.has(cap) && s.state === "ready" && !room.isChannel)
    s.send("MARKREAD", room.name);
}

/**
 * markerRefused is called when the server could not store a marker: its disk may be full. The
 * marker is sent again later, or on the next connection.
 */
export function markerRefused(s, room) {
  s.markersFrom = s.now() + again;
  if (room) room.marked = 0;
}

/** markersWait says whether sendMarkers has something to send. */
export const markersWait = (s) =>
  s.has(cap) &&
  s.state === "ready" &&
  s.now() >= s.markersFrom &&
  [...s.rooms.values()].some(moved);

const moved = (room) => room.looked && room.read > room.marked;

/**
 * sendMarkers tells the server up to where the user has read. It is called after a while, so that
 * a busy room does not need a line for each message.
 */
export function sendMarkers(s) {
  if (!markersWait(s)) return;
  for (const room of s.rooms.values()) {
    if (!moved(room)) continue;
    room.marked = room.read;
    const time = new Date(room.read).toISOString();
    s.send("MARKREAD", room.name, `timestamp=${time}`);
  }
}
