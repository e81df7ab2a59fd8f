// The lines from the server: one function for each command, and one for all other numerics.

import { edited, isEdit, refused } from "./edit.js";
import { missed, past } from "./history.js";
import { nickOf } from "./irc.js";
import { askMarker, marker, markerRefused } from "./marker.js";
import { message } from "./message.js";
import { assemble, multiline } from "./multiline.js";
import {
  later,
  renamed as personRenamed,
  told,
  unseen,
  unset,
} from "./person.js";
import { isAway, offline, online, unwatch, watch } from "./presence.js";
import { previewed } from "./preview.js";
import { reacted } from "./react.js";
import { redacted } from "./redact.js";
import { follow, renamed, unwant } from "./rename.js";
import { maxBatch } from "./room.js";
import { found, remarked } from "./search.js";
import { spoke, typing } from "./typing.js";
import { account, askWho, memberOf, who, whoEnds } from "./who.js";

export const handlers = {
  PING: (s, { params }) => s.send("PONG", ...params.slice(-1)),
  PONG: (s, { params }) => s.hooks.ponged?.(params.at(-1) ?? ""),
  ERROR: (s, { params }) => {
    s.why = params.at(-1) ?? "";
    s.note(s.status, s.why, "error");
  },

  CAP(s, { params }) {
    const words = (params.at(-1) ?? "").split(" ").filter(Boolean);
    switch ((params[1] ?? "").toUpperCase()) {
      case "LS":
      case "NEW":
        for (const w of words)
          s.offered.set(w.split("=")[0], w.slice(w.indexOf("=") + 1));
        if (params[2] !== "*") s.request();
        break;
      case "ACK":
        for (const w of words)
          if (w.startsWith("-")) s.caps.delete(w.slice(1));
          else s.caps.add(w);
        s.negotiated();
        break;
      case "NAK":
        s.negotiated();
        break;
      case "DEL":
        for (const w of words) s.caps.delete(w);
    }
  },
  AUTHENTICATE: (s, { params }) => {
    if (params[0] === "+") s.authenticate();
  },
  900(s, { params }) {
    // after a rename of the account, the next connection needs the new name
    if (!s.settings.account || !params[2]) return;
    s.hooks.renamed?.(params[2]);
    s.settings.account = params[2];
  },
  903(s) {
    s.authenticated = true;
    if (s.nickAgain) s.send("NICK", s.nick);
    s.nickAgain = false;
    s.negotiated();
  },
  REGISTER(s, { params }) {
    // the account was made from the invitation: log in to it
    if (params[0] !== "SUCCESS") return;
    s.settings.invitation = "";
    if (!s.hooks.registered?.()) s.negotiated();
  },
  902: refuse,
  904: refuse,
  905: refuse,
  906: refuse,
  908: refuse,
  464: refuse,
  465: refuse,

  "001": (s, { source, params }) => {
    s.server = source;
    s.nick = params[0] || s.nick;
  },
  "005": (s, { params }) => {
    for (const word of params.slice(1, -1)) support(s.support, word);
  },
  376: (s) => s.ready(),
  422: (s) => s.ready(),
  372: (s, { params }) => s.note(s.status, params.at(-1)),
  375() {},

  431: badNick,
  432: badNick,
  433: badNick,
  436: badNick,
  437: badNick,

  PRIVMSG: spoken,
  NOTICE: spoken,
  REDACT: redacted,
  TAGMSG: (s, line) => {
    if (!reacted(s, line)) previewed(s, line);
    typing(s, line);
  },
  RENAME: renamed,
  MARKREAD: marker,
  WEBPUSH: (s, { params }) => s.hooks.pushed?.(params[0], params[1], ""),

  JOIN(s, line) {
    const { source, params, time } = line;
    const nick = nickOf(source);
    const [name] = params;
    if (!name) return;
    const me = s.isMe(nick);
    const room = me ? s.open(name) : s.find(name);
    if (!room) return;
    room.members.set(s.fold(nick), memberOf(line));
    if (!me) {
      s.note(room, `${nick} joined`, "event", time);
      return;
    }
    s.source = source;
    room.joined = true;
    room.name = name;
    if (![...s.wants.keys()].some((w) => s.fold(w) === s.fold(name)))
      s.wants.set(name, "");
    s.catchUp(room);
    askWho(s, name);
    s.hooks.joined?.(room);
  },
  PART(s, { source, params, time }) {
    leave(s, params[0], nickOf(source), `left${reason(params[1])}`, time);
  },
  KICK(s, { source, params, time }) {
    leave(
      s,
      params[0],
      params[1] ?? "",
      `was removed by ${nickOf(source)}${reason(params[2])}`,
      time,
    );
  },
  QUIT(s, { source, params, time }) {
    const nick = nickOf(source);
    if (s.isMe(nick)) return;
    for (const room of s.rooms.values()) {
      if (room.members.delete(s.fold(nick)))
        s.note(room, `${nick} left${reason(params[0])}`, "event", time);
    }
    unseen(s, nick);
  },
  NICK(s, { source, params, time }) {
    const from = nickOf(source);
    const to = params[0] ?? from;
    if (s.isMe(from)) s.nick = s.settings.nick = to;
    personRenamed(s, from, to);
    for (const room of s.rooms.values()) {
      const member = room.members.get(s.fold(from));
      if (!member) continue;
      room.members.delete(s.fold(from));
      room.members.set(s.fold(to), { ...member, nick: to });
      s.note(room, `${from} is now ${to}`, "event", time);
    }
    const talk = s.find(from);
    if (talk && !talk.isChannel && !s.find(to)) {
      s.rooms.delete(s.fold(from));
      talk.name = to;
      s.rooms.set(s.fold(to), talk);
      unwatch(s, from);
      watch(s, [to]);
      askMarker(s, talk);
    }
  },
  CHGHOST(s, { source, params }) {
    // our own host counts for the length of our lines
    const nick = nickOf(source);
    if (params.length !== 2) return;
    if (s.isMe(nick)) s.source = `${s.nick}!${params[0]}@${params[1]}`;
    for (const room of s.rooms.values()) {
      const member = room.members.get(s.fold(nick));
      if (member) member.host = params[1];
    }
  },
  TOPIC(s, { source, params, time }) {
    const room = s.find(params[0] ?? "");
    if (!room) return;
    room.topic = params[1] ?? "";
    s.hooks.ruled?.(room);
    s.note(
      room,
      `${nickOf(source)} ${room.topic ? `set the topic: ${room.topic}` : "cleared the topic"}`,
      "event",
      time,
    );
  },
  381(s, line) {
    s.hooks.operating?.(true);
    numeric(s, line);
  },
  331: (s, { params }) => topic(s, params[1], ""),
  332: (s, { params }) => topic(s, params[1], params[2]),
  333() {},
  329() {},
  328() {},
  353(s, { params }) {
    const room = s.find(params[2] ?? "");
    if (!room) return;
    room.naming ??= new Map();
    for (const word of (params[3] ?? "").split(" ").filter(Boolean)) {
      let at = 0;
      while (s.support.prefixes.includes(word[at] ?? " ")) at++;
      const nick = nickOf(word.slice(at));
      const prefix = word.slice(0, Math.min(at, 1));
      const was = room.members.get(s.fold(nick)) ?? { away: false };
      room.naming.set(s.fold(nick), { ...was, nick, prefix });
    }
  },
  366(s, { params }) {
    const room = s.find(params[1] ?? "");
    if (room?.naming) room.members = room.naming;
    if (room) room.naming = undefined;
  },
  MODE(s, { source, params, time }) {
    const room = s.find(params[0] ?? "");
    if (s.isMe(params[0] ?? "") && /o/.test(params[1] ?? ""))
      s.hooks.operating?.(/\+[^-]*o/.test(params[1]));
    if (!room) return;
    s.note(
      room,
      `${nickOf(source)} set ${params.slice(1).join(" ")}`,
      "event",
      time,
    );
    if ([...(params[1] ?? "")].some((c) => s.support.prefixModes.includes(c)))
      s.send("NAMES", room.name);
    s.hooks.ruled?.(room);
  },
  AWAY: (s, { source, params }) => away(s, nickOf(source), Boolean(params[0])),
  761(s, line) {
    if (!told(s, line)) numeric(s, line);
  },
  766(s, line) {
    if (!unset(s, line)) numeric(s, line);
  },
  770() {},
  774: later,
  301: (s, { params }) => {
    isAway(s, params[1] ?? "", true);
    s.note(
      s.find(params[1] ?? "") ?? s.active,
      `${params[1]} is away: ${params[2] ?? ""}`,
    );
  },
  730: online,
  731: offline,
  734() {}, // there are more conversations than the server watches
  305: (s) => away(s, s.nick, false),
  306: (s) => away(s, s.nick, true),
  352(s, line) {
    if (!who(s, line)) numeric(s, line);
  },
  354(s, line) {
    if (!who(s, line)) numeric(s, line);
  },
  315: whoEnds,
  ACCOUNT: account,
  INVITE(s, { source, params }) {
    if (s.isMe(params[0] ?? ""))
      s.note(
        s.active,
        `${nickOf(source)} invites you to ${params[1]}: /join ${params[1]}`,
        "notice",
      );
  },

  BATCH(s, { params, tags, source }) {
    const [ref = "", type = "", target = ""] = params;
    const name = ref.slice(1);
    const history = /chathistory|search/.test(type);
    if (ref.startsWith("+")) {
      const collects = history || type === multiline;
      if (s.batches.size < maxBatch)
        s.batches.set(name, {
          type,
          target,
          tags,
          source,
          lines: [],
          history,
          collects,
        });
      return;
    }
    const batch = s.batches.get(name);
    s.batches.delete(name);
    if (batch?.history) past(s, batch);
    else if (batch?.collects) s.receive(assemble(batch)); // it may be in a batch itself
  },

  FAIL: (s, line) => {
    const [about, code] = line.params;
    const room = s.find(line.params[2] ?? "") ?? s.find(line.params[3] ?? "");
    if (about === "CHATHISTORY") {
      missed(s, room ?? [...s.rooms.values()].find((r) => r.asked));
      return;
    }
    if (about === "JOIN" && code === "CHANNEL_RENAMED") {
      follow(s, line.params[2], line.params[3]);
      return;
    }
    if (about === "MARKREAD") {
      markerRefused(s, room);
      return;
    }
    if (about === "WEBPUSH") {
      const [, , verb, endpoint] = line.params;
      s.hooks.pushed?.(verb, endpoint, line.params.at(-1));
      return;
    }
    if (about === "SEARCH") {
      found(s, []);
      // one of many rooms that may not be searched, such as a guest's conversations
      if (code === "INVALID_TARGET") return;
    }
    if (!s.registered) s.hooks.refused(line.params.at(-1));
    // these have refused no message
    const label = line.tags.get("label");
    if (!refused(s, label) && !/^(REDACT|REPORT|SEARCH)$/.test(about))
      failed(s, label, room);
    s.note(room ?? s.active, `${line.params.at(-1)} (${code})`, "error");
  },
  WARN: (s, { params }) => s.note(s.active, params.at(-1)),
  NOTE: (s, { params }) => {
    if (params[0] === "SEARCH" && params.length > 3) remarked(s, params[2]);
    else s.note(s.active, params.at(-1));
  },
};

/**
 * numeric shows what has no handler where it belongs: beside the room it names, or where the
 * user looks.
 */
export function numeric(s, { command, params, tags }) {
  const code = Number(command);
  const room = s.find(params[1] ?? "");
  if (code >= 400) {
    if (params[1] === "SEARCH") found(s, []);
    // before registration, or an unknown subcommand of CAP
    if (code === 451 || code === 410) return;
    if (code === 421 && ["CAP", "WHO", "CHATHISTORY"].includes(params[1]))
      return;
    if (!refused(s, tags.get("label"))) failed(s, tags.get("label"), room);
    if (
      room?.isChannel &&
      !room.joined &&
      /^(403|405|437|47[1-9]|489)$/.test(command)
    )
      s.wants.delete(room.name);
    s.note(room ?? s.active, params.slice(1).join(" "), "error");
    return;
  }
  if (code < 5 || (code >= 250 && code <= 266))
    s.note(s.status, params.slice(1).join(" "));
  else s.note(s.active, params.slice(1).join(" "), "info");
}

function away(s, nick, is) {
  if (s.isMe(nick)) s.away = is;
  isAway(s, nick, is);
  for (const room of s.rooms.values()) {
    const member = room.members.get(s.fold(nick));
    if (member) member.away = is;
  }
}

function refuse(s, { params }) {
  s.hooks.refused(params.at(-1));
}

function badNick(s, { params }) {
  if (s.state === "registering" && s.settings.account && !s.authenticated)
    s.nickAgain = true; // it may be ours, once we have logged in
  else if (s.state === "ready")
    s.note(s.active, `${params[1]}: ${params.at(-1)}`, "error");
  else if (s.registered)
    // our old connection, which the server will soon end
    s.hooks.retry(`${s.nick}: ${params.at(-1)}`);
  else s.hooks.refused(`${s.nick}: ${params.at(-1)}`);
}

function support(into, word) {
  const [key, value = ""] = word.split("=");
  switch (key) {
    case "CASEMAPPING":
      into.casemapping = value;
      break;
    case "CHANTYPES":
      into.chantypes = value;
      break;
    case "NETWORK":
      into.network = value;
      break;
    case "SEARCH":
      into.search = true;
      break;
    case "papaya/REPORT":
      into.report = true;
      break;
    case "CHANMODES":
      into.modes = [0, 1, 2, 3].map((kind) => value.split(",")[kind] ?? "");
      break;
    case "MONITOR":
      into.monitor = Number(value) || 0; // 0: as many as one likes
      break;
    case "BOT":
      into.bot = value;
      break;
    case "WHOX":
      into.whox = true;
      break;
    case "EXTBAN":
      [into.extban] = value.split(",");
      break;
    case "ACCOUNTEXTBAN":
      [into.accountBan] = value.split(",");
      break;
    case "VAPID":
      into.vapid = value;
      break;
    case "draft/FILEHOST":
    case "soju.im/FILEHOST":
      into.filehost = value;
      break;
    case "CHATHISTORY":
    case "draft/CHATHISTORY":
      into.history = Number(value) || 0;
      break;
    case "PREFIX": {
      const m = /^\((.*)\)(.*)$/.exec(value);
      if (m) [, into.prefixModes, into.prefixes] = m;
    }
  }
}

function spoken(s, line) {
  if (isEdit(s, line)) {
    edited(s, line);
    return;
  }
  const made = message(s, line);
  if (!made) return;
  const { target, m } = made;
  if (m.kind === "notice" && m.nick.toLowerCase() === "nickserv") {
    if (!s.hooks.served?.(m.text)) s.note(s.active, m.text, "notice");
    return;
  }
  if (m.kind === "notice" && m.nick.toLowerCase() === "operserv") {
    if (!s.hooks.operated?.(m.text)) s.note(s.active, m.text, "notice");
    return;
  }
  const server =
    !line.source.includes("!") &&
    (line.source === "" ||
      line.source === s.server ||
      line.source.includes(".") ||
      s.state !== "ready");
  if (server && !s.isChannel(target)) {
    // the answer to REPORT is shown in the room on the screen
    const answer = /^Your report \d+ /.test(m.text);
    s.note(answer ? s.active : s.status, m.text, "notice");
    return;
  }
  const room = s.isChannel(target)
    ? s.find(target)
    : s.open(m.own ? target : m.nick);
  if (!room) return;
  const member = room.members.get(s.fold(m.nick));
  if (member && m.bot) member.bot = true;
  spoke(s, room, m.nick);
  const waited = m.own && room.settle(m);
  if (!room.add(m)) return;
  room.bound();
  if (m.own) {
    if (!waited) {
      room.look(); // we have said it on another device, which tells what it has read
      room.marked = room.read;
    }
    return;
  }
  room.count(m);
  s.hooks.message(room, m);
}

/** failed marks the message that the server would not pass on. */
function failed(s, label, room) {
  for (const r of room ? [room] : s.rooms.values()) {
    const m = r.messages.find(
      (x) => x.pending && !x.failed && (label ? x.label === label : room),
    );
    if (m) {
      m.failed = true;
      return;
    }
  }
}

function leave(s, name, nick, what, time) {
  const room = s.find(name ?? "");
  if (!room) return;
  room.members.delete(s.fold(nick));
  if (s.isMe(nick)) {
    room.joined = false;
    const all = [...room.members.values()];
    room.members.clear();
    for (const member of all) unseen(s, member.nick);
    unwant(s, room.name);
    s.hooks.ruled?.(room);
    s.note(room, `You ${what.replace(/^was/, "were")}`, "event", time);
    return;
  }
  unseen(s, nick);
  s.note(room, `${nick} ${what}`, "event", time);
}

function topic(s, name, text) {
  const room = s.find(name ?? "");
  if (room) room.topic = text ?? "";
}

const reason = (why) => (why ? `: ${why}` : "");
