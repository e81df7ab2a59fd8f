// A message as rooms keep it.

import { nickOf } from "./irc.js";

/**
 * message makes a message for a room from a line, and says which room it is for. It returns null
 * for a line that is not for people.
 */
export function message(s, { tags, source, command, params, time, timed }) {
  let [target = "", text = ""] = params;
  while (
    target.length > 1 &&
    s.support.prefixes.includes(target[0]) &&
    s.isChannel(target.slice(1))
  )
    target = target.slice(1);
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
      label: tags.get("label") ?? "",
      mention: !own && mentions(s, text),
    },
  };
}

function mentions(s, text) {
  const nick = s.fold(s.nick);
  const word = /[\p{L}\p{N}_\-[\]\\`^{|}]+/gu;
  return (s.fold(text).match(word) ?? []).some((w) => w === nick);
}
