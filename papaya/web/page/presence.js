// Whether the people of conversations are here, away or offline. The server tells who comes and
// goes (MONITOR of IRCv3), and who is away (away-notify, for those who are watched by
// extended-monitor). Where it does not watch, the rooms that we share tell it.

import { ask } from "./ask.js";
import { nickOf } from "./irc.js";
import { unseen } from "./person.js";

const mostBytes = 400; // of the nicks in one line
const atOnce = 5; // nicks in one USERHOST (RFC 2812 section 4.8)

/** watch has the server tell of nicks, as many as it watches. */
export function watch(s, nicks) {
  const most = s.support.monitor;
  if (most === undefined || s.state !== "ready") return;
  let line = [];
  const send = () => {
    if (line.length > 0) s.send("MONITOR", "+", line.join(","));
    line = [];
  };
  for (const nick of nicks) {
    const name = s.fold(nick);
    const may = /^[^\s,:*?]+$/.test(nick) && !s.isMe(nick);
    if (!may || s.watched.has(name)) continue;
    if (most > 0 && s.watched.size >= most) break;
    s.watched.add(name);
    line.push(nick);
    if (line.join(",").length > mostBytes) send();
  }
  send();
}

/** watchAll watches those of all conversations. */
export function watchAll(s) {
  const talks = [...s.rooms.values()].filter((room) => !room.isChannel);
  watch(
    s,
    talks.map((room) => room.name),
  );
}

/** unwatch ends that. */
export function unwatch(s, nick) {
  const name = s.fold(nick);
  s.presence.delete(name);
  if (s.watched.delete(name)) s.send("MONITOR", "-", nick);
  unseen(s, nick);
}

/** online is called with those who are here, or have come: who of them is away is asked for. */
export function online(s, { params }) {
  const all = (params.at(-1) ?? "").split(",").map(nickOf);
  const nicks = all.filter((nick) => s.watched.has(s.fold(nick)));
  for (const nick of nicks) note(s, nick, "here");
  if (!s.has("labeled-response")) return; // the answer would be shown
  for (let at = 0; at < nicks.length; at += atOnce)
    ask(s, "USERHOST", ...nicks.slice(at, at + atOnce)).then((lines) => {
      for (const line of lines ?? []) hosts(s, line);
    });
}

/** offline is called with those who are not here, or have gone. */
export function offline(s, { params }) {
  for (const nick of (params.at(-1) ?? "").split(",")) {
    note(s, nickOf(nick), "offline");
    unseen(s, nickOf(nick));
  }
}

/** hosts reads the answer to USERHOST: nick=+user@host, or - in the place of + for one away. */
function hosts(s, { command, params }) {
  if (command !== "302") return;
  for (const word of (params.at(-1) ?? "").split(" ")) {
    const found = /^([^=*]+)\*?=([+-])/.exec(word);
    if (found) note(s, found[1], found[2] === "-" ? "away" : "here");
  }
  s.hooks.changed();
}

/** isAway notes that somebody is away, or not any more. */
export function isAway(s, nick, away) {
  if (s.presence.has(s.fold(nick))) note(s, nick, away ? "away" : "here");
}

/** note notes how somebody is who is watched. */
function note(s, nick, how) {
  const name = s.fold(nick);
  if (s.watched.has(name)) s.presence.set(name, how);
}

/** presenceOf is "here", "away" or "offline", or "" if that is not known. */
export function presenceOf(s, nick) {
  const name = s.fold(nick);
  const told = s.presence.get(name);
  if (told) return told;
  for (const room of s.rooms.values()) {
    const member = room.members.get(name);
    if (member) return member.away ? "away" : "here";
  }
  return "";
}
