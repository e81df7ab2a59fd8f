// What people say of themselves, where the server keeps it (draft/metadata-3 of IRCv3): another
// name, a picture and a colour; and whether they are bots. The nick always stands first, since
// everybody may call itself as it likes. A picture is shown if it is a file of this server, of
// which the server makes a thumbnail: nobody else learns who looks at it.

import { ownPath } from "./files.js";
import { clean } from "./text.js";

export const cap = "draft/metadata-3";

/** keys are what the page is told of. */
export const keys = ["display-name", "avatar", "color"];

const colour = /^#[0-9a-f]{6}$/i;
const longest = 40; // characters of a name
const most = 5000; // people of whom something is known
const mostSynced = 1000; // members of a room of which it asks for all

/** subscribe has the server tell the keys of those whom we meet. */
export function subscribe(s) {
  if (s.has(cap)) s.send("METADATA", "*", "SUB", ...keys);
}

/** told takes a value (761); it says whether it was one for the page. */
export function told(s, { params, tags }) {
  const [, target = "", key = ""] = params;
  const value = params.length > 4 ? params.at(-1) : "";
  if (!keys.includes(key)) return listed(s, target, tags);
  if (!s.isChannel(target)) note(s, target, key, value);
  return true;
}

/** listed says whether a line is of the list of our own values, which comes unasked. */
const listed = (s, target, tags) =>
  s.isMe(target) && s.batches.get(tags.get("batch"))?.type === "metadata";

/** unset takes that there is no value (766). */
export function unset(s, { params, tags }) {
  const [, target = "", key = ""] = params;
  if (!keys.includes(key)) return listed(s, target, tags);
  if (!s.isChannel(target)) note(s, target, key, "");
  return true;
}

/** later is called when the server would tell of a room only if it is asked (774). */
export function later(s, { params }) {
  const room = s.find(params[1] ?? "");
  if (room && room.members.size <= mostSynced)
    s.send("METADATA", room.name, "SYNC");
}

function note(s, nick, key, value) {
  const who = s.fold(nick);
  const facts = { ...s.people.get(who), [key]: value };
  s.people.delete(who);
  if (keys.some((k) => facts[k])) s.people.set(who, facts);
  if (s.people.size > most) s.people.delete(s.people.keys().next().value);
  s.peopleTold++;
}

/** own are the words of /profile, with their keys. */
const own = { name: "display-name", avatar: "avatar", color: "color" };

/** describe changes what others see of us. It returns why not, or "". */
export function describe(s, what, value) {
  if (!s.has(cap)) return "This server keeps nothing of that kind.";
  if (what === "color" && value && !colour.test(value))
    return "A colour is #rrggbb, such as #b4420f.";
  if (what === "avatar" && value && !ownPath(value, s.support.filehost))
    return "A picture is the link of one that you have sent here as a file.";
  s.send("METADATA", "*", "SET", own[what], ...(value ? [value] : []));
  return "";
}

/** described says whether a word is one of /profile. */
export const described = (what) => Object.hasOwn(own, what ?? "");

/** renamed gives what is known of a nick to its next one. */
export function renamed(s, from, to) {
  const facts = s.people.get(s.fold(from));
  s.people.delete(s.fold(from));
  s.people.delete(s.fold(to));
  if (facts) s.people.set(s.fold(to), facts);
  s.peopleTold++;
}

/**
 * unseen forgets somebody whom we do not see any more: the next one of that nick may be another
 * person, and the server does not say what it does not know of that one.
 */
export function unseen(s, nick) {
  const who = s.fold(nick);
  if (!s.people.has(who) || s.isMe(nick)) return;
  if (/here|away/.test(s.presence.get(who) ?? "")) return; // it is watched
  if ([...s.rooms.values()].some((room) => room.members.has(who))) return;
  s.people.delete(who);
  s.peopleTold++;
}

/** personOf is what is shown of somebody: {name, avatar, color}, each of them may be "". */
export function personOf(s, nick) {
  const facts = s?.people.get(s.fold(nick)) ?? {};
  const words = clean(facts["display-name"] ?? "").replace(/\s+/g, " ");
  const name = [...words.trim()].slice(0, longest).join("");
  const color = colour.test(facts.color ?? "") ? facts.color : "";
  const path = ownPath(facts.avatar ?? "", s?.support.filehost);
  return {
    name: s && name && s.fold(name) !== s.fold(nick) ? name : "",
    avatar: path && `${path}?thumbnail`,
    color,
  };
}

let session = null; // whose people are shown

/** paintFace shows the picture of somebody, or the first letter of the nick. */
export function paintFace(face, nick) {
  const { avatar, color } = personOf(session, nick);
  const key = `${nick} ${avatar} ${color}`;
  if (face.dataset.of === key) return;
  face.dataset.of = key;
  if (color) face.style.setProperty("--own", color);
  else face.style.removeProperty("--own");
  face.classList.toggle("coloured", color !== "");
  face.textContent = [...clean(nick)][0]?.toUpperCase() ?? "?";
  if (!avatar) return;
  const image = document.createElement("img");
  image.alt = "";
  image.src = avatar;
  // a picture that is gone leaves the letter
  image.addEventListener("load", () => {
    if (face.dataset.of === key) face.replaceChildren(image);
  });
}

/** paintAside shows what stands behind a nick: the other name, and that it is a bot. */
export function paintAside(aside, nick, bot, named = true) {
  const name = named ? personOf(session, nick).name : "";
  const key = `${bot ? "bot" : ""} ${name}`;
  if (aside.dataset.of === key) return;
  aside.dataset.of = key;
  aside.replaceChildren();
  for (const [className, words] of [
    ["bot", bot ? "bot" : ""],
    ["called", name],
  ]) {
    if (!words) continue;
    const span = document.createElement("span");
    span.className = className;
    span.textContent = words;
    aside.append(" ", span);
  }
}

/** dress shows in the node of a message what is known of its author. */
export function dress(li) {
  const nick = li.querySelector(".nick");
  li.dressed = session?.peopleTold;
  if (!nick) return;
  const { message: m } = li;
  let aside = li.querySelector(".aside");
  if (!aside) {
    aside = document.createElement("span");
    aside.className = "aside";
    nick.after(aside);
  }
  // what somebody does is a sentence, which begins with the nick
  paintAside(aside, m.nick, m.bot, m.kind !== "action");
  paintFace(li.querySelector(".face"), m.nick);
}

/** dressAll shows it in all nodes that were drawn before something was told. */
export function dressAll(list, s) {
  session = s;
  for (const li of list.children)
    if (li.message && li.dressed !== s.peopleTold) dress(li);
}
