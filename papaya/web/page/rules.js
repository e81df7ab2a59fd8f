// The rules of a room: its modes, its lists of masks, and what its operators do to members. The
// server decides; here is what it is asked, and how its answers are read.

import { ask, refusal } from "./ask.js";
import { nickOf } from "./irc.js";

/** flags are the modes of a room without a parameter, by letter. */
export const flags = {
  i: "Only those who are invited may join",
  m: "Only operators and those with voice may talk",
  M: "Only accounts may talk",
  n: "Nobody outside may write in the room",
  s: "The room is secret: no list shows it",
  t: "Only operators set the topic",
  C: "No requests to the programs of members (CTCP)",
};

/** lists are the lists of masks, by letter: a name, and what its masks do. */
export const lists = {
  b: ["Bans", "Those who fit may not join, nor talk without voice."],
  q: ["Quiets", "Those who fit may join, but not talk without voice."],
  e: ["Exceptions", "Bans and quiets do not hold for those who fit."],
  I: ["Invited", "Those who fit need no invitation."],
};

/** numerics are those of the masks of each list. */
const numerics = { b: "367", e: "348", I: "346", q: "728" };

/** hasFlag and hasList say whether the rooms of a server have a mode (CHANMODES of numeric 005). */
export const hasFlag = (s, letter) => s.support.modes[3].includes(letter);
export const hasList = (s, letter) => s.support.modes[0].includes(letter);

/** operates says whether the user is an operator of a room. */
export function operates(s, room) {
  const prefix = room.members.get(s.fold(s.nick))?.prefix ?? "";
  return room.isChannel && room.joined && /^[~&@]$/.test(prefix);
}

/** modesOf asks for the modes of a room: {on, key, limit, why}. */
export async function modesOf(s, room) {
  const lines = await ask(s, "MODE", room.name);
  const why = refusal(lines);
  const told = lines?.find(({ command }) => command === "324");
  const [, , letters = "", ...words] = told?.params ?? [];
  const modes = { on: new Set(), key: "", limit: "", why };
  for (const letter of letters.replace("+", "")) {
    if (letter === "k") modes.key = words.shift() ?? "";
    else if (letter === "l") modes.limit = words.shift() ?? "";
    else modes.on.add(letter);
  }
  return modes;
}

/** listOf asks for a list of a room: {rows, why}. A row has a mask, who has set it, and when. */
export async function listOf(s, room, letter) {
  const lines = await ask(s, "MODE", room.name, letter);
  const rows = (lines ?? [])
    .filter(({ command }) => command === numerics[letter])
    .map(({ params }) => {
      // the quiet list has its letter before the mask
      const [mask = "", by = "", at = ""] = params.slice(
        letter === "q" ? 3 : 2,
      );
      return { mask, by: nickOf(by), time: Number(at) * 1000 };
    });
  return { rows, why: refusal(lines) };
}

/** setMode changes modes of a room. It promises why not, or "". */
export async function setMode(s, room, ...words) {
  const lines = await ask(s, "MODE", room.name, ...words);
  const same = lines?.length > 0 && lines.every((l) => l.command !== "MODE");
  return refusal(lines) || (same ? "Nothing has changed by that." : "");
}

export const setTopic = async (s, room, text) =>
  refusal(await ask(s, "TOPIC", room.name, text));

export const kick = async (s, room, nick, why) =>
  refusal(await ask(s, "KICK", room.name, nick, why));

export const invite = async (s, room, nick) =>
  refusal(await ask(s, "INVITE", nick, room.name));

/** accountMask is the mask of an account, or "" if the server has none of that kind. */
export const accountMask = (s, name) => {
  const { extban, accountBan } = s.support;
  return accountBan && extban !== undefined
    ? `${extban}${accountBan}:${name}`
    : "";
};

/**
 * maskOf is the mask by which somebody is banned: what was typed if it is a mask; the account of a
 * member, or else its host, so that another nick does not help; and the nick of anybody else.
 */
export function maskOf(s, room, who) {
  if (/[!@*~:.]/.test(who)) return who;
  const member = room.members.get(s.fold(who));
  return (
    (member?.account && accountMask(s, member.account)) ||
    (member?.host ? `*!*@${member.host}` : `${who}!*@*`)
  );
}

/** ban bans somebody from a room, and removes a member of that nick. It promises why not, or "". */
export async function ban(s, room, who, why) {
  const mask = maskOf(s, room, who);
  const refused = refusal(await ask(s, "MODE", room.name, "+b", mask));
  if (refused || !room.members.has(s.fold(who))) return refused;
  return kick(s, room, who, why);
}

/** rights are the modes that make a member operator, or give it voice, with their words. */
export const rights = {
  op: ["+o", "make somebody operator of the room"],
  deop: ["-o", "take that back"],
  voice: ["+v", "let somebody talk in a moderated room"],
  devoice: ["-v", "take that back"],
};

/** shown is a row of a list in one line. */
export function shown({ mask, by, time }) {
  const when = time > 0 ? new Date(time).toLocaleString() : "";
  return [mask, by ? `by ${by}` : "", when].filter(Boolean).join(", ");
}
