// A session with a server: our nick, our rooms and our messages. It sends lines by hooks.send, and
// receive.js handles lines of the server. It lasts longer than its connections: messages that were
// missed during one are requested on the next.

import { answered, unanswered } from "./ask.js";
import { cap as editCap, doubtful, shorter, tag as editTag } from "./edit.js";
import { bytes, fold, format, pieces, plain64 } from "./irc.js";
import { askMarker } from "./marker.js";
import {
  compose,
  joined,
  maxAtOnce,
  maxLinesAtOnce,
  multiline,
  parseLimits,
  wireOf,
} from "./multiline.js";
import { cap as personCap, subscribe } from "./person.js";
import { unwatch, watch, watchAll } from "./presence.js";
import { cap as previewCap } from "./preview.js";
import { handlers, numeric } from "./receive.js";
import { tag as replyTag, take } from "./reply.js";
import { maxBatch, Room } from "./room.js";
import { abandoned } from "./search.js";

/** wanted are the capabilities that are of use here; a server without any will do. */
const wanted = [
  "message-tags",
  "server-time",
  "batch",
  "echo-message",
  "labeled-response",
  "draft/chathistory",
  "chathistory",
  "papaya/missed",
  "draft/event-playback",
  "draft/message-redaction",
  editCap,
  "draft/channel-rename",
  multiline,
  "draft/read-marker",
  "away-notify",
  "extended-monitor",
  "extended-join",
  "account-notify",
  "multi-prefix",
  "cap-notify",
  "standard-replies",
  "invite-notify",
  "setname",
  "chghost",
  "draft/account-registration",
  "draft/webpush",
  "draft/search",
  "soju.im/search",
  previewCap,
  personCap,
];

/**
 * pageLength is how many messages are asked for at once; a server may say less by CHATHISTORY=n.
 */
const pageLength = 100;

/** longest is how many characters of a text are looked at; more are too long for any server. */
const longest = 1 << 17;

const lostChange =
  "The connection was lost: a change of a message is not known to have arrived.";

/** recent is how many days back a new device looks for conversations. A guess. */
const recent = 14;

export class Session {
  /**
   * settings: nick, account, password, stays (without a password), invitation, pass, rooms, read,
   * since. hooks: send, changed, message, refused, ready.
   */
  constructor(settings, hooks, now = Date.now) {
    this.settings = settings;
    this.hooks = hooks;
    this.now = now;
    this.nick = settings.nick;
    this.rooms = new Map(); // folded name -> Room
    this.previews = new Map(); // msgid -> the previews of the message
    this.asked = new Map(); // label -> a command whose answer is waited for: see ask.js
    this.status = new Room("*", false);
    this.active = this.status;
    this.registered = false; // at least once
    // room -> its key: the rooms to join after a reconnect
    this.wants = new Map((settings.rooms ?? []).map((name) => [name, ""]));
    this.since = settings.since ?? 0; // when the server last sent a line
    this.labels = 0;
    this.sent = 0; // messages
    this.reset();
  }

  /** reset forgets what belongs to one connection. */
  reset() {
    this.state = "offline";
    unanswered(this);
    this.caps = new Set();
    this.offered = new Map();
    this.support = {
      casemapping: "ascii",
      chantypes: "#",
      prefixModes: "ov",
      prefixes: "@+",
      modes: ["b", "k", "l", "imnst"], // by kind, as in CHANMODES of numeric 005
      history: pageLength,
      network: "",
    };
    this.batches = new Map();
    this.asking = new Set(); // rooms for which the session, not the user, has sent WHO
    this.heard = this.since;
    this.watched = new Set(); // folded nicks of which the server tells whether they are here
    this.presence = new Map(); // folded nick -> "here", "away" or "offline"
    this.people = new Map(); // folded nick -> what somebody says of itself: see person.js
    this.peopleTold = (this.peopleTold ?? 0) + 1; // how often something of that has changed
    this.away = false;
    this.authenticated = false;
    this.nickAgain = false;
    this.markersFrom = 0; // the time before which no read markers are sent
    this.searching = null; // what the server is searching
    this.search = null; // what the user waits for
    this.source = "";
  }

  /** opened begins to register on a new connection. */
  opened() {
    const { pass } = this.settings;
    this.state = "registering";
    this.send("CAP", "LS", "302");
    if (pass) this.send("PASS", pass);
    this.send("NICK", this.nick);
    this.send(
      "USER",
      this.nick.slice(0, 10),
      "0",
      "*",
      this.settings.real || this.nick,
    );
    this.hooks.changed();
  }

  /** lost keeps the rooms and what was said, and marks what may not have arrived. */
  lost() {
    for (const room of [this.status, ...this.rooms.values()]) {
      room.doubt();
      if (doubtful(room)) this.note(room, lostChange, "error");
      room.joined = false;
      room.asked = "";
      room.seek = null;
      room.members.clear();
      room.typing.clear();
    }
    abandoned(this);
    this.reset();
    this.hooks.changed();
  }

  receive(line) {
    if (!line) return;
    this.timed(line);
    const batch = this.batches.get(line.tags.get("batch"));
    if (batch?.collects && line.command !== "BATCH") {
      if (batch.lines.length < maxBatch) batch.lines.push(line);
      return;
    }
    if (line.timed) this.since = Math.max(this.since, line.time);
    const handler = handlers[line.command];
    if (answered(this, line)) {
      // it is shown where the user has asked
    } else if (handler) handler(this, line);
    else if (/^\d{3}$/.test(line.command)) numeric(this, line);
    this.hooks.changed();
  }

  /** timed gives a line its time: the server's, or now. */
  timed(line) {
    const time = Date.parse(line.tags.get("time") ?? "");
    line.timed = !Number.isNaN(time);
    line.time = line.timed ? time : this.now();
    return line;
  }

  send(command, ...params) {
    this.hooks.send(format(null, command, ...params));
  }

  fold(name) {
    return fold(name, this.support.casemapping);
  }

  isMe(nick) {
    return this.fold(nick) === this.fold(this.nick);
  }

  isChannel(name) {
    return name !== "" && this.support.chantypes.includes(name[0]);
  }

  has(cap) {
    return this.caps.has(cap);
  }

  find(name) {
    return this.rooms.get(this.fold(name));
  }

  /** open finds a room, or makes it. */
  open(name) {
    let room = this.find(name);
    if (!room) {
      room = new Room(name, this.isChannel(name));
      room.read = this.settings.read?.[name] ?? 0;
      this.rooms.set(this.fold(name), room);
      askMarker(this, room);
      if (!room.isChannel) watch(this, [name]);
    }
    return room;
  }

  close(room) {
    if (room.isChannel && room.joined) this.send("PART", room.name);
    if (!room.isChannel) unwatch(this, room.name);
    this.wants.delete(room.name);
    this.rooms.delete(this.fold(room.name));
    if (this.active === room)
      this.active = [...this.rooms.values()][0] ?? this.status;
    this.hooks.changed();
  }

  /** look makes a room the one that is seen. The view says what is read of it. */
  look(room) {
    this.active = room;
    this.hooks.changed();
  }

  /** request asks for the capabilities that the server has and we want. */
  request() {
    const ask = wanted.filter((c) => this.offered.has(c) && !this.caps.has(c));
    if (
      this.settings.account &&
      this.offered.has("sasl") &&
      !this.caps.has("sasl")
    )
      ask.push("sasl");
    if (ask.length) this.send("CAP", "REQ", ask.join(" "));
    else if (this.state === "registering") this.negotiated();
  }

  /** negotiated goes on when the capabilities are known: by SASL, or to the end of them. */
  negotiated() {
    if (this.state !== "registering") return;
    const { account, invitation } = this.settings;
    if (
      invitation &&
      !this.registered &&
      this.has("draft/account-registration")
    ) {
      this.send("REGISTER", account, invitation, this.settings.password);
      return;
    }
    if (!account || this.authenticated) this.send("CAP", "END");
    else if (this.has("sasl"))
      this.send("AUTHENTICATE", this.settings.stays ? "EXTERNAL" : "PLAIN");
    else
      this.hooks.refused(
        "This server has no accounts: sign in without a password.",
      );
  }

  authenticate() {
    if (this.settings.stays) {
      // another page may have signed this browser in to another account meanwhile
      const wanted = this.registered ? btoa(this.settings.account) : "+";
      this.send("AUTHENTICATE", wanted);
      return;
    }
    for (const part of plain64(this.settings.account, this.settings.password))
      this.send("AUTHENTICATE", part);
  }

  /** ready joins the rooms again and asks who wrote to us meanwhile. */
  ready() {
    if (this.state === "ready") return;
    this.state = "ready";
    this.registered = true;
    subscribe(this);
    const names = [...this.wants].filter(([name]) => this.isChannel(name));
    for (const [name, key] of names) this.join(name, key);
    for (const room of this.rooms.values()) askMarker(this, room);
    watchAll(this);
    // a device that the account has not used before learns its conversations
    const from =
      this.heard > 0 ? this.heard - 1 : this.now() - recent * 86_400_000;
    if (this.history() && (this.heard > 0 || this.settings.account)) {
      this.send(
        "CHATHISTORY",
        "TARGETS",
        stamp(from),
        stamp(this.now() + 60_000),
        String(this.limit()),
      );
    }
    this.hooks.ready();
  }

  join(name, key = "") {
    this.wants.set(name, key);
    this.send("JOIN", name, ...(key ? [key] : []));
  }

  history() {
    return this.has("draft/chathistory") || this.has("chathistory");
  }

  limit() {
    return Math.min(pageLength, this.support.history || pageLength);
  }

  /**
   * catchUp asks for what a room has that we have not: all since the newest we know, or the
   * latest.
   */
  catchUp(room) {
    if (!this.history() || room.asked) return;
    // a connection may have been lost while this went on, and newer messages had come before
    const last = room.behind ?? room.newest();
    room.pages = 0;
    if (last) this.after(room, last, last);
    else this.ask(room, "latest", "LATEST", "*");
  }

  /** after asks for what was said after a message. Its page follows behind in the room. */
  after(room, message, behind) {
    room.from = message;
    room.behind = behind;
    this.ask(room, "after", "AFTER", this.reference(message, -1));
  }

  /** older asks for the page before what is shown; false if there is none to be had. */
  older(room) {
    const list = room.past ?? room;
    const oldest = list.oldest();
    if (
      !this.history() ||
      this.state !== "ready" ||
      room.asked ||
      list.whole ||
      !oldest
    )
      return false;
    const kind = room.past ? "past-before" : "before";
    this.ask(room, kind, "BEFORE", this.reference(oldest, 1));
    return true;
  }

  /**
   * reference names a message in a request for history. A message without an id is named by its
   * time. A request for those before or after it then begins so many ms beyond, since others may
   * have the same time: those that are there already are not shown twice.
   */
  reference({ id, time }, beyond = 0) {
    return id ? `msgid=${id}` : stamp(time + beyond);
  }

  ask(room, kind, command, ref) {
    room.asked = kind;
    this.send("CHATHISTORY", command, room.name, ref, String(this.limit()));
  }

  /**
   * say sends a text to a room and shows it at once: as one message of several lines, or as
   * several messages if it is long or the server knows no such messages. It returns "sent",
   * "unheard" if there is nobody to send it to, or "long" if it would become too many messages.
   */
  say(room, text, kind = "message") {
    const messages = this.divide(room, text, kind);
    if (typeof messages === "string") return messages;
    const reply = take(this, room);
    for (const [i, parts] of messages.entries())
      this.sayOne(room, parts, kind, i === 0 ? reply : "");
    this.hooks.changed();
    return "sent";
  }

  /** divide divides a text into messages for a room, or returns why that cannot be, as say does. */
  divide(room, text, kind, less = 0) {
    if (
      this.state !== "ready" ||
      room === this.status ||
      (room.isChannel && !room.joined)
    )
      return "unheard";
    if (text.length > longest) return "long";
    const source = this.source || `${this.nick}!0123456789@${"h".repeat(63)}`;
    const head = `:${source} PRIVMSG ${room.name} :\x01ACTION \x01\r\n`;
    const size = 512 - bytes(head) - less;
    const several =
      this.has(multiline) && this.has("batch") && kind !== "action";
    const messages = several
      ? compose(text, size, parseLimits(this.offered.get(multiline)))
      : pieces(text, size).map((piece) => [{ text: piece }]);
    const most = several ? maxAtOnce : maxLinesAtOnce;
    return messages.length > most ? "long" : messages;
  }

  /** change gives a message of ours a new text. It returns what say does. */
  change(room, m, text) {
    const messages = this.divide(room, text, m.kind, shorter);
    if (typeof messages === "string") return messages;
    if (messages.length !== 1) return "long";
    const label = this.has("labeled-response") ? `m${++this.labels}` : "";
    this.write(room, messages[0], m.kind, label, { [editTag]: m.id });
    if (this.has("echo-message")) m.changing = label || "?";
    else Object.assign(m, { text: joined(messages[0]), edited: this.now() });
    this.hooks.changed();
    return "sent";
  }

  /** sayOne sends one message and shows it at once. reply is the msgid that it answers, or "". */
  sayOne(room, parts, kind, reply) {
    const label = this.has("labeled-response") ? `m${++this.labels}` : "";
    const text = joined(parts);
    room.add({
      time: Math.max(this.now(), room.newest()?.time ?? 0),
      nick: this.nick,
      kind,
      text,
      own: true,
      pending: this.has("echo-message"),
      reply,
      label,
    });
    this.write(room, parts, kind, label, reply ? { [replyTag]: reply } : {});
  }

  /** write sends the lines of one message. */
  write(room, parts, kind, label, more) {
    const tags = label ? { label, ...more } : more;
    const text = joined(parts);
    const body =
      kind === "action" ? [{ text: `\x01ACTION ${text}\x01` }] : parts;
    const command = kind === "notice" ? "NOTICE" : "PRIVMSG";
    const ref = `l${++this.sent}`;
    for (const words of wireOf(command, room.name, body, ref, tags))
      this.hooks.send(format(...words));
  }

  /** note writes a line that only we see. */
  note(room, text, kind = "event", time = this.now()) {
    room.add({ time, nick: "", kind, text });
    room.bound();
  }
}

const stamp = (time) => `timestamp=${new Date(time).toISOString()}`;
