// The commands that are typed with a slash. Each is a function of the session, the room on the
// screen and the words.

import { cap as editCap, editable } from "./edit.js";
import { operatorCommands, usage } from "./opcommands.js";
import { describe, described } from "./person.js";
import { cap as previewCap } from "./preview.js";
import { allowed, react } from "./react.js";
import { askToDelete, deletable } from "./redact.js";
import { answerable } from "./reply.js";
import { reportUser } from "./reports.js";

export const commands = {
  join: [
    "#room [key]",
    "go into a room",
    (s, room, [name, key]) => {
      if (!name) return usage;
      const full = s.isChannel(name) ? name : `#${name}`;
      s.join(full, key);
      s.goTo = s.fold(full);
      return "";
    },
  ],
  part: [
    "[#room] [why]",
    "leave a room",
    (s, room, words) => {
      const named = s.isChannel(words[0] ?? "") ? s.find(words[0]) : room;
      if (!named || named === s.status) return "You are in no such room.";
      s.close(named);
      return "";
    },
  ],
  msg: [
    "nick text",
    "write to one person",
    (s, room, [to, ...text]) => {
      if (!to || text.length === 0) return usage;
      return outcome(s, s.open(to), s.say(s.open(to), text.join(" ")));
    },
  ],
  query: [
    "nick",
    "open a conversation with one person",
    (s, room, [to]) => {
      if (!to) return usage;
      const talk = s.open(to);
      if (!talk.isChannel) s.catchUp(talk);
      s.look(talk);
      return "";
    },
  ],
  me: [
    "text",
    "say what you do",
    (s, room, words) => {
      if (words.length === 0) return usage;
      return outcome(s, room, s.say(room, words.join(" "), "action"));
    },
  ],
  notice: [
    "nick text",
    "send a notice",
    (s, room, [to, ...text]) => {
      if (!to || text.length === 0) return usage;
      return outcome(
        s,
        s.open(to),
        s.say(s.open(to), text.join(" "), "notice"),
      );
    },
  ],
  topic: [
    "[text]",
    "see or set the topic of the room",
    (s, room, words) => {
      if (!room.isChannel) return "Only rooms have a topic.";
      s.send("TOPIC", room.name, ...(words.length ? [words.join(" ")] : []));
      return "";
    },
  ],
  rename: [
    "#name [why]",
    "give the room another name",
    (s, room, [name, ...why]) => {
      if (!name) return usage;
      if (!room.isChannel) return "Only rooms have a name that can be changed.";
      if (s.state !== "ready") return "Not connected.";
      const full = s.isChannel(name) ? name : `#${name}`;
      const reason = why.length ? [why.join(" ")] : [];
      s.send("RENAME", room.name, full, ...reason);
      return "";
    },
  ],
  previews: [
    "on|off [mine]",
    "have previews of links in the room, or of your own, or none",
    (s, room, [wanted, whose]) => {
      if (!/^(on|off)$/.test(wanted ?? "")) return usage;
      if (!s.has(previewCap)) return "This server makes no previews.";
      if (whose !== "mine" && !room.isChannel) return "This is no room.";
      const about = whose === "mine" ? "*" : room.name;
      s.send("METADATA", about, "SET", previewCap, wanted);
      return "";
    },
  ],
  nick: [
    "name",
    "change your nick",
    (s, room, [name]) => (name ? (s.send("NICK", name) ?? "") : usage),
  ],
  profile: [
    "name|avatar|color [value]",
    "say what others see beside your nick, or nothing any more",
    (s, room, [what, ...value]) => {
      if (!described(what)) return usage;
      if (s.state !== "ready") return "Not connected.";
      return describe(s, what, value.join(" "));
    },
  ],
  away: [
    "[why]",
    "say that you are away",
    (s, room, words) => s.send("AWAY", words.join(" ") || "away") ?? "",
  ],
  back: ["", "say that you are back", (s) => s.send("AWAY") ?? ""],
  whois: [
    "nick",
    "see who somebody is",
    (s, room, [nick]) => {
      const who = nick ?? (room.isChannel ? "" : room.name);
      return who && who !== "*" ? (s.send("WHOIS", who) ?? "") : usage;
    },
  ],
  names: [
    "",
    "see who is in the room",
    (s, room) => {
      const names = [...room.members.values()]
        .map((m) => m.prefix + m.nick)
        .sort();
      s.note(
        room,
        names.length ? `Here: ${names.join(", ")}` : "Nobody is here.",
        "info",
      );
      return "";
    },
  ],
  delete: [
    "[why]",
    "delete your last message",
    (s, room, words) => {
      const may = deletable(s, room);
      const m = room.messages.findLast((x) => x.own && may(x));
      if (!m) return "There is no message of yours that can be deleted.";
      askToDelete(s, room, m, words.join(" "));
      return "";
    },
  ],
  edit: [
    "text",
    "change your last message",
    (s, room, words) => {
      if (words.length === 0) return usage;
      const may = editable(s, room);
      const m = room.messages.findLast((x) => may(x));
      if (m) return changed(s, room, words.join(" "), m);
      return s.has(editCap) || s.state !== "ready"
        ? "There is no message of yours that can be changed."
        : "This server changes no messages.";
    },
  ],
  reply: [
    "text",
    "answer the last message of somebody else",
    (s, room, words) => {
      if (words.length === 0) return usage;
      const m = lastOfOthers(s, room);
      if (!m) return nothing;
      room.reply = m;
      return outcome(s, room, s.say(room, words.join(" ")));
    },
  ],
  react: [
    "emoji",
    "react to the last message of somebody else, or take that back",
    (s, room, words) => {
      const text = words.join(" ");
      if (!allowed(text)) return usage;
      const m = lastOfOthers(s, room);
      if (!m) return nothing;
      react(s, room, m, text);
      return "";
    },
  ],
  report: [
    "nick why",
    "tell the operators of the server of somebody",
    (s, room, [nick, ...why]) => {
      if (!nick || why.length === 0) return usage;
      if (!s.support.report) return "This server takes no reports.";
      reportUser(s, nick, why.join(" "));
      return "";
    },
  ],
  list: [
    "[#room]",
    "list the rooms of the server",
    (s, room, words) => s.send("LIST", ...words.slice(0, 1)) ?? "",
  ],
  invite: [
    "nick [#room]",
    "invite somebody to the room",
    (s, room, [nick, name]) =>
      nick ? (s.send("INVITE", nick, name ?? room.name) ?? "") : usage,
  ],
  kick: [
    "nick [why]",
    "remove somebody from the room",
    (s, room, [nick, ...why]) =>
      nick ? (s.send("KICK", room.name, nick, why.join(" ")) ?? "") : usage,
  ],
  ...operatorCommands,
  search: [
    "words",
    "find what was said in the room, or in all of them",
    (s, room, words) => {
      if (words.length === 0) return usage;
      s.hooks.find(words.join(" "));
      return "";
    },
  ],
  ns: [
    "words",
    "look after your account: password, sessions, certificates, name (/ns help)",
    (s, room, words) => s.send("NS", words.join(" ") || "HELP") ?? "",
  ],
  raw: [
    "line",
    "send a line of IRC as it is",
    (s, room, words) =>
      words.length
        ? (s.hooks.send(words.join(" ").replace(/[\r\n\0]/g, " ")) ?? "")
        : usage,
  ],
  quit: [
    "[why]",
    "sign out",
    (s, room, words) => {
      s.send("QUIT", words.join(" ") || "signed out");
      s.hooks.quit();
      return "";
    },
  ],
  keys: ["", "list the keys", (s) => s.hooks.keys() ?? ""],
  help: [
    "",
    "list the commands",
    (s, room) => {
      for (const [name, [words, what]] of Object.entries(commands))
        s.note(room, `/${name} ${words}`.trimEnd() + `: ${what}`, "info");
      return "";
    },
  ],
};

const nothing = "There is no message here that can be answered.";

/** lastOfOthers is the last message of somebody else that can be answered. */
function lastOfOthers(s, room) {
  const may = answerable(s, room);
  return room.messages.findLast((m) => !m.own && may(m));
}

/** outcome is what to tell of a text that was to be said, or ''. */
function outcome(s, room, what) {
  if (what === "sent") return "";
  if (what === "long")
    return "This is too long to be sent at once: send it in parts, or as a link.";
  if (s.state !== "ready")
    return "Not connected: what you wrote is kept here until you are.";
  return room === s.status
    ? "There is nobody to tell here."
    : `You are not in ${room.name}: /join ${room.name}`;
}

/** changed gives a message a new text; it returns what is to be told, or ''. */
export function changed(s, room, text, m = room.editing) {
  if (text === m.text) return "";
  const what = s.change(room, m, text);
  if (what === "long") return "This is too long for one message.";
  return outcome(s, room, what);
}

/** obey does what was written; it returns what is to be told, or '' when all is well. */
export function obey(session, room, text) {
  if (!text.startsWith("/") || text.startsWith("//")) {
    const said = text.startsWith("//") ? text.slice(1) : text;
    if (room === session.status) return "Join a room first: /join #room";
    return outcome(session, room, session.say(room, said));
  }
  const [name, ...words] = text.slice(1).trim().split(/ +/);
  const command =
    commands[Object.keys(commands).find((c) => c === name.toLowerCase()) ?? ""];
  if (!command) return `There is no command /${name}: /help lists them`;
  const [form, , run] = command;
  const told = run(session, room, words);
  return told === usage ? `How to use it: /${name} ${form}` : told;
}
