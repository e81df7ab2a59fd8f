// The typed commands of operators: of a room, and of the server. What the server refuses stands in
// the room, as after any command.

import {
  accountMask,
  ban,
  listOf,
  lists,
  maskOf,
  modesOf,
  rights,
  shown,
} from "./rules.js";

/** usage is what a command returns whose words are wrong. */
export const usage = Symbol("usage");

/** inRoom makes a command of one that is about the room on the screen. */
const inRoom = (run) => (s, room, words) => {
  if (!room.isChannel) return "This works in rooms only.";
  if (s.state !== "ready") return "Not connected.";
  return run(s, room, words);
};

/** tell notes why something was not done, if it was not. */
const tell = (s, room) => (why) => {
  if (why) s.note(room, why, "error");
  s.hooks.changed();
};

/** showModes notes the modes of a room in words that /mode takes, too. */
async function showModes(s, room) {
  const { on, key, limit, why } = await modesOf(s, room);
  if (!why) {
    const letters = [...on].join("") + (key && "k") + (limit && "l");
    const text = [`+${letters}`, key, limit].filter(Boolean).join(" ");
    s.note(room, `Modes of ${room.name}: ${text}`, "info");
  }
  tell(s, room)(why);
}

/** showList notes a list of a room. */
async function showList(s, room, letter) {
  const { rows, why } = await listOf(s, room, letter);
  const [name] = lists[letter];
  if (!why && rows.length === 0) s.note(room, `${name}: none`, "info");
  for (const row of rows) s.note(room, `${name}: ${shown(row)}`, "info");
  tell(s, room)(why);
}

/** asksLists says whether the words of a MODE only ask for lists. */
const asksLists = ([word, ...more]) =>
  more.length === 0 &&
  /^\+?[a-zA-Z]+$/.test(word) &&
  [...word.replace("+", "")].every((letter) => lists[letter]);

function mode(s, room, words) {
  if (s.state !== "ready") return "Not connected.";
  const [first = ""] = words;
  if (first !== "" && !/^[+-]/.test(first) && !s.isChannel(first)) {
    s.send("MODE", ...words); // one's own modes
    return "";
  }
  const named = s.isChannel(first) ? s.find(first) : room;
  const rest = s.isChannel(first) ? words.slice(1) : words;
  if (!named?.isChannel) {
    if (rest.length === 0) return usage;
    s.send("MODE", s.isChannel(first) ? first : s.nick, ...rest);
  } else if (rest.length === 0) showModes(s, named);
  else if (asksLists(rest))
    for (const letter of new Set(rest[0].replace("+", "")))
      showList(s, named, letter);
  else s.send("MODE", named.name, ...rest);
  return "";
}

const right = (letters) =>
  inRoom((s, room, nicks) => {
    if (nicks.length === 0) return usage;
    const signs = letters[0] + letters[1].repeat(nicks.length);
    s.send("MODE", room.name, signs, ...nicks);
    return "";
  });

export const operatorCommands = {
  mode: [
    "[#room] [modes]",
    "see or change the modes of the room, or with a nick your own",
    mode,
  ],
  ...Object.fromEntries(
    Object.entries(rights).map(([name, [letters, what]]) => [
      name,
      ["nick ...", what, right(letters)],
    ]),
  ),
  ban: [
    "[nick or mask] [why]",
    "keep somebody out of the room, and remove them; alone: see the bans",
    inRoom((s, room, [who, ...why]) => {
      if (who) ban(s, room, who, why.join(" ")).then(tell(s, room));
      else showList(s, room, "b");
      return "";
    }),
  ],
  unban: [
    "nick or mask",
    "let somebody in again",
    inRoom((s, room, [who]) => {
      if (!who) return usage;
      lift(s, room, who);
      return "";
    }),
  ],
  uban: [
    "add|del|list|info ...",
    "ban from the whole server, as its operator",
    (s, room, words) => {
      if (words.length === 0) return usage;
      s.send("UBAN", ...words);
      return "";
    },
  ],
};

/**
 * lift takes back a ban: that of a mask, or those by which /ban keeps a nick out. One who is not in
 * the room is known by no account and host, so both are looked for.
 */
async function lift(s, room, who) {
  const { rows, why } = await listOf(s, room, "b");
  const wanted = new Set(
    [who, maskOf(s, room, who), `${who}!*@*`, accountMask(s, who)].map((mask) =>
      s.fold(mask),
    ),
  );
  const masks = rows.map((r) => r.mask).filter((m) => wanted.has(s.fold(m)));
  if (!why && masks.length === 0) {
    tell(s, room)(`There is no ban of ${who}: /ban lists them.`);
    return;
  }
  for (const mask of masks) s.send("MODE", room.name, "-b", mask);
  tell(s, room)(why);
}
