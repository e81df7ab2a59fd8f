// Who is in a room: what the server tells of its members when we come, and when they do. Their
// accounts are known where it has WHOX and extended-join.

import { nickOf } from "./irc.js";

/** token marks the answers to the session's own WHO. */
const token = "71";

/** askWho asks who is in a room. */
export function askWho(s, name) {
  s.asking.add(s.fold(name));
  if (s.support.whox) s.send("WHO", name, `%tchnfa,${token}`);
  else s.send("WHO", name);
}

/**
 * who takes a line of the answer (352, or 354 of WHOX). It returns false if the user has asked for
 * it.
 */
export function who(s, { command, params }) {
  if (command === "352") {
    const [, name, , host, , nick, flags] = params;
    seen(s, name, nick, flags, { host });
    return s.asking.has(s.fold(name ?? ""));
  }
  const [, marked, name, host, nick, flags, account] = params;
  if (marked !== token) return false;
  seen(s, name, nick, flags, { host, account: accountOf(account) });
  return true;
}

/** whoEnds is called at its end (315). */
export function whoEnds(s, { params }) {
  s.asking.delete(s.fold(params[1] ?? ""));
}

/** account is called when somebody logs in or out (account-notify). */
export function account(s, { source, params }) {
  for (const room of s.rooms.values()) {
    const member = room.members.get(s.fold(nickOf(source)));
    if (member) member.account = accountOf(params[0]);
  }
}

/** seen notes what is told of a member. */
function seen(s, name, nick, flags, more) {
  const member = s.find(name ?? "")?.members.get(s.fold(nick ?? ""));
  if (!member) return;
  Object.assign(member, more);
  member.away = (flags ?? "").startsWith("G");
  member.bot = Boolean(s.support.bot) && (flags ?? "").includes(s.support.bot);
}

/** accountOf is an account, or "" for what stands for none. */
const accountOf = (word) => (/^[*0]?$/.test(word ?? "") ? "" : word);

/** memberOf is a member who has just joined. */
export function memberOf({ source, params, tags }) {
  const at = source.indexOf("@");
  return {
    nick: nickOf(source),
    prefix: "",
    away: false,
    host: at < 0 ? "" : source.slice(at + 1),
    account: accountOf(params[1]), // extended-join
    bot: tags.has("bot"),
  };
}
