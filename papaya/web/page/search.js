// A search asks the server for the messages of one room after the other, since it takes one search
// at a time.

const most = 200; // messages that one search finds in all rooms together: a guess

/** searchable are the rooms that can be searched: those we are in, and the conversations. */
export const searchable = (s) =>
  [...s.rooms.values()].filter((r) => !r.isChannel || r.joined);

/** offersSearch says whether the server has a search. */
export const offersSearch = (s) =>
  s.support.search || s.has("draft/search") || s.has("soju.im/search");

/**
 * search looks for the messages of rooms that contain all words of a text. It calls
 * hooks.found(search) when something of it is known: search has hits, older (rooms with more) and
 * room (which is being searched; undefined at the end). A search that is not answered yet is given
 * up.
 */
export function search(s, rooms, text) {
  s.search = { text, rooms: [...rooms], hits: [], older: [], room: undefined };
  next(s);
}

function next(s) {
  if (!s.search || s.searching) return;
  const room = s.search.rooms.shift();
  s.search.room = room;
  if (room) {
    s.searching = { room, search: s.search };
    ask(s, room, s.search.text);
  }
  s.hooks.found?.(s.search);
}

function ask(s, room, text) {
  if (s.support.search) {
    s.send("SEARCH", room.name, text);
    return;
  }
  const escapes = { ";": "\\:", " ": "\\s", "\\": "\\\\" };
  const escape = (v) => v.replace(/[; \\]/g, (c) => escapes[c]);
  s.send("SEARCH", `in=${escape(room.name)};text=${escape(text)};limit=50`);
}

/** found takes the messages of one room; none if the server has refused to search it. */
export function found(s, messages) {
  const { room, search: of } = s.searching ?? {};
  s.searching = null;
  if (of && of === s.search) {
    const theirs = messages.map((m) => ({ room, m })).reverse();
    of.hits = newestFirst(of.hits, theirs).slice(0, most);
  }
  next(s);
}

/**
 * newestFirst makes one list of two. Each keeps its own order: that of a room is the server's, and
 * many of its messages may have the same time.
 */
function newestFirst(one, other) {
  const list = [];
  let at = 0;
  for (const hit of one) {
    while (at < other.length && other[at].m.time > hit.m.time)
      list.push(other[at++]);
    list.push(hit);
  }
  return list.concat(other.slice(at));
}

/** remarked is called for what the server remarks on a search: it has not found everything. */
export function remarked(s, name) {
  if (!s.search) return;
  s.search.older.push(name);
  s.hooks.found?.(s.search);
}

/** withdrawn removes a deleted message from what was found. */
export function withdrawn(s, id) {
  if (!s.search?.hits.some(({ m }) => m.id === id)) return;
  s.search.hits = s.search.hits.filter(({ m }) => m.id !== id);
  s.hooks.found?.(s.search);
}

/** revisedHit gives a message that was found its new text. */
export function revisedHit(s, { id, text, edited }) {
  const hits = s.search?.hits.filter(({ m }) => m.id === id) ?? [];
  for (const { m } of hits) Object.assign(m, { text, edited });
  if (hits.length > 0) s.hooks.found?.(s.search);
}

/** abandoned ends a search whose answer cannot come any more. */
export function abandoned(s) {
  s.searching = null;
  if (!s.search) return;
  s.search.rooms = [];
  next(s);
}
