// A message as rooms keep it.

import { nickOf } from "./irc.js";
import { about } from "./reply.js";

/**
 * message makes a message for a room from a line, and says which room it is for. It returns null
 * for a line that is not for people.
 */
export function message(s, { tags, source, command, params, time, timed }) {
  let [, text = ""] = params;
  const target = targetOf(s, params[0]);
  const nick = nickOf(source);
  let kind = command === "NOTICE" ? "notice" : "message";
  if (text.startsWith("\x01")) {
    const action = /^\x01ACTION ?(.*?)\x01?$/s.exec(text);
    if (!action) return null;
    kind = "action";
    [, text] = action;
  }
  const own = s.isMe(nick);
  const id = tags.get("msgid") ?? "";
  return {
    target,
    m: {
      id,
      time,
      timed,
      told: true,
      nick,
      kind,
      text,
      own,
      bot: tags.has("bot"),
      reply: about(tags),
      edited: Date.parse(tags.get("papaya/edited") ?? "") || 0,
      label: tags.get("label") ?? "",
      mention: !own && mentions(s, text),
    },
  };
}

/** targetOf is the room or nick of a target, without the prefix of those whom it is for. */
function targetOf(s, target = "") {
  let at = 0;
  while (s.support.prefixes.includes(target[at] ?? " ")) at++;
  return s.isChannel(target.slice(at)) ? target.slice(at) : target;
}

/** roomOf is the room or conversation of a line; undefined if we have none. */
export function roomOf(s, { source, params }) {
  const target = targetOf(s, params[0]);
  const nick = nickOf(source);
  return s.find(s.isChannel(target) || s.isMe(nick) ? target : nick);
}

function mentions(s, text) {
  const nick = s.fold(s.nick);
  const word = /[\p{L}\p{N}_\-[\]\\`^{|}]+/gu;
  return (s.fold(text).match(word) ?? []).some((w) => w === nick);
}
