// Reading without a connection, on a device that stays signed in: the browser keeps the last
// messages of each room, and the service worker the page's own files. Both are for this device
// only; the messages go when it is signed out.

import { registerWorker } from "./push.js";
import { load, save } from "./settings.js";

const key = "seen";
const most = 100; // messages of a room that are kept
const largest = 2_000_000; // characters in all: browsers give a page 5 MB or more

/** what of a message is kept. */
const fields = "id time nick kind text own bot mention reply of edited".split(
  " ",
);

const kinds = /^(message|action|notice|deleted|unseen)$/;

/** seenIn is what is kept of a room: its newest messages without a gap, and their reactions. */
function seenIn(room, n) {
  const told = room.messages.filter(
    (m) => m.told && m.id && kinds.test(m.kind),
  );
  const messages = told
    .slice(-n)
    .map((m) => Object.fromEntries(fields.map((f) => [f, m[f]])));
  const reactions = messages
    .filter((m) => room.reactions.has(m.id))
    .map((m) => [m.id, [...room.reactions.get(m.id)]]);
  return { name: room.name, topic: room.topic, messages, reactions };
}

/** keepSeen keeps what the session has now. */
export function keepSeen(s) {
  const { account } = s.settings;
  const rooms = [...s.rooms.values()];
  const active = s.active === s.status ? "" : s.active.name;
  for (let n = most; n > 0; n = Math.floor(n / 2)) {
    const all = { account, active, rooms: rooms.map((r) => seenIn(r, n)) };
    if (JSON.stringify(all).length > largest) continue;
    save(key, all);
    return;
  }
}

/** forgetSeen removes it. */
export const forgetSeen = () => save(key, {});

/**
 * recall gives a new session what was kept for its account, and says whether that is anything. What
 * was missed since is requested as after a lost connection.
 */
export function recall(s) {
  const kept = load(key);
  if (kept.account !== s.settings.account || !Array.isArray(kept.rooms))
    return false;
  const joins = new Set([...s.wants.keys()].map((name) => s.fold(name)));
  try {
    for (const { name, topic, messages, reactions } of kept.rooms) {
      // a room that the user has left is not joined again
      if (s.isChannel(name) && !joins.has(s.fold(name))) continue;
      const room = s.open(name);
      room.topic = topic;
      for (const m of messages)
        room.add({ ...m, told: true, timed: true, label: "" });
      for (const [id, list] of reactions) room.reactions.set(id, new Map(list));
      room.recount();
    }
  } catch {
    // the storage is damaged: what is missing is on the server
  }
  s.active =
    s.find(String(kept.active)) ?? [...s.rooms.values()][0] ?? s.status;
  return s.rooms.size > 0;
}

/** keepPage has the service worker keep the files of the page, for a start without a connection. */
export async function keepPage() {
  try {
    await registerWorker();
    const { active } = await navigator.serviceWorker.ready;
    const used = performance.getEntriesByType("resource").map((e) => e.name);
    active.postMessage({ keep: [new URL("./", location.href).href, ...used] });
  } catch {
    // this browser has no service workers, or not for this page
  }
}
