// Reactions (draft/react of IRCv3): a TAGMSG that names a message, and has an emoji or a word in a
// tag. Another one takes it back. The server keeps them, so they are in histories, too.

import { format, nickOf } from "./irc.js";
import { roomOf } from "./message.js";
import { about, tag } from "./reply.js";
import { clean } from "./text.js";

const onTag = "+draft/react";
const offTag = "+draft/unreact";

const longest = 16; // characters of a reaction
const known = 5000; // messages of a room whose reactions are remembered
const most = 200; // reactions of one message
const kinds = 12; // different ones of one message that are shown

/**
 * reacted takes a TAGMSG, and says whether it is a reaction. It is one to a message of the room in
 * which it was said, and of no other.
 */
export function reacted(s, line) {
  const of = about(line.tags);
  const on = line.tags.get(onTag) ?? line.tags.get("+react");
  const off = line.tags.get(offTag) ?? line.tags.get("+unreact");
  const text = clean(on ?? off ?? "").trim();
  if (!of || !text || [...text].length > longest) return false;
  const nick = nickOf(line.source);
  const id = line.tags.get("msgid") ?? "";
  const one = { nick, text, on: on !== undefined, time: line.time, id };
  note(s, roomOf(s, line), of, one);
  return true;
}

/** note notes a reaction. Histories come late, so the newest one of a user counts. */
function note(s, room, of, one) {
  const { reactions } = room ?? {};
  if (!reactions) return;
  const list = reactions.get(of) ?? new Map();
  const key = `${s.fold(one.nick)} ${one.text}`;
  const before = list.get(key);
  if (before ? before.time > one.time : list.size >= most) return;
  // another list, so that the page sees the change
  reactions.set(of, new Map(list).set(key, one));
  if (reactions.size > known) reactions.delete(reactions.keys().next().value);
}

/** withdrawnReaction takes back the reaction with a msgid; false if the room has none. */
export function withdrawnReaction({ reactions }, id) {
  for (const [of, list] of reactions)
    for (const [key, one] of list)
      if (one.id === id) {
        reactions.set(of, new Map(list).set(key, { ...one, on: false }));
        return true;
      }
  return false;
}

/** grouped are the reactions of a message by their texts: each with the nicks of its users. */
function grouped(list) {
  const groups = new Map();
  for (const { text, nick, on } of list?.values() ?? [])
    if (on) groups.set(text, [...(groups.get(text) ?? []), clean(nick)]);
  return [...groups].slice(0, kinds);
}

/** react reacts to a message of a room, or takes that back. */
export function react(s, room, m, text) {
  const mine = room.reactions.get(m.id)?.get(`${s.fold(s.nick)} ${text}`);
  const tags = { [mine?.on ? offTag : onTag]: text, [tag]: m.id };
  s.hooks.send(format(tags, "TAGMSG", room.name));
  if (s.has("echo-message")) return;
  const one = { nick: s.nick, text, on: !mine?.on, time: s.now(), id: "" };
  note(s, room, m.id, one);
  s.hooks.changed();
}

/** allowed says whether a text may be a reaction. */
export const allowed = (text) =>
  clean(text).trim() === text && text !== "" && [...text].length <= longest;

/** showReactions makes the reactions below a message those of a list, which may be undefined. */
export function showReactions(li, list, mine, may) {
  if (li.reactions === list && li.mayReact === may) return;
  li.reactions = list;
  li.mayReact = may;
  const had = document.activeElement?.closest(".reactions")?.parentNode === li;
  const focused = had ? document.activeElement.dataset.text : "";
  li.querySelector(":scope > .reactions")?.remove();
  const groups = grouped(list);
  if (groups.length === 0) return;
  const all = document.createElement("div");
  all.className = "reactions";
  for (const [text, nicks] of groups) all.append(chip(text, nicks, mine, may));
  li.insertBefore(all, li.tools ?? null);
  if (had) [...all.children].find((c) => c.dataset.text === focused)?.focus();
}

function chip(text, nicks, mine, may) {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.text = text;
  button.disabled = !may;
  button.textContent = `${text} ${nicks.length}`;
  button.title = nicks.join(", ");
  const label = `${button.textContent}: ${nicks.join(", ")}`;
  button.setAttribute("aria-label", label);
  button.setAttribute("aria-pressed", String(nicks.some(mine)));
  return button;
}
