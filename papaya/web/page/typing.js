// Who is writing (+typing of IRCv3): a TAGMSG each few seconds, which is in no history. It is
// nothing that a server or a user must say, so it ends by itself.

import { format, nickOf } from "./irc.js";
import { roomOf } from "./message.js";
import { clean } from "./text.js";

// The specification's times, in ms: between two of ours, and how long one of others counts.
const every = 3000;
const lasts = 6000;

const most = 50; // users of a room that are remembered
const named = 3; // users that are named

/** typing takes a TAGMSG: somebody is writing, or is not any more. */
export function typing(s, line) {
  const state = line.tags.get("+typing");
  const nick = nickOf(line.source);
  const room = roomOf(s, line);
  if (!state || !room || s.isMe(nick)) return;
  const key = s.fold(nick);
  room.typing.delete(key);
  if (state === "active" && room.typing.size < most)
    room.typing.set(key, { nick, until: s.now() + lasts });
}

/** spoke notes that somebody has said what was being written. */
export const spoke = (s, room, nick) => room.typing.delete(s.fold(nick));

/** writers says who is writing in a room, or "". */
export function writers(room, now) {
  for (const [key, { until }] of room.typing)
    if (until <= now) room.typing.delete(key);
  const nicks = [...room.typing.values()].map(({ nick }) => clean(nick));
  if (nicks.length === 0) return "";
  if (nicks.length > named) return "Several people are writing";
  const last = nicks.pop();
  if (nicks.length === 0) return `${last} is writing`;
  return `${nicks.join(", ")} and ${last} are writing`;
}

/** typed tells a room that the user is writing, or has removed what was written. */
export function typed(s, room, text) {
  if (!s.has("message-tags") || s.state !== "ready" || room === s.status)
    return;
  if (room.isChannel && !room.joined) return;
  const writes = text !== "" && !text.startsWith("/");
  if (writes ? s.now() - room.typedAt < every : room.typedAt === 0) return;
  room.typedAt = writes ? s.now() : 0;
  const tags = { "+typing": writes ? "active" : "done" };
  s.hooks.send(format(tags, "TAGMSG", room.name));
}
