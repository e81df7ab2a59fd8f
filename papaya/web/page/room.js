// A room, or a conversation with one user: its messages in order, its members, and what is unread.
// Messages are identified by msgid, so history may come late, twice or in pieces. Their order is
// the server's: that in which they come, and in a page of history that of the page. Times do not
// tell it, since many messages have the same one, and a clock may be set back.

import { makeNote, spoken } from "./redact.js";

/** keep is how many messages a room holds while nobody reads back. */
export const keep = 2000;

/** most is how many it holds for somebody who does. A guess. */
export const most = 120_000;

/**
 * maxPages bounds what is fetched of one room after a reconnect; beyond, the gap is shown as
 * one.
 */
export const maxPages = 20;

/** maxBatch bounds the batches, and the lines of one, that have not ended. */
export const maxBatch = 4096;

export class Room {
  constructor(name, isChannel) {
    this.name = name;
    this.isChannel = isChannel;
    this.joined = false;
    this.topic = "";
    this.members = new Map(); // folded nick -> {nick, prefix, away}
    this.messages = []; // in the server's order
    this.known = new Map(); // msgid, or a substitute -> the message
    this.keep = keep;
    this.most = most;
    this.reading = false; // somebody reads what is further back than the newest messages
    this.gone = new Map(); // notes for messages that the room does not have, by msgid
    this.unread = 0;
    this.mentions = 0;
    this.read = 0; // the time of the newest message that the user has seen
    this.marked = 0; // the part of it that the server knows
    this.looked = false; // the user has seen something since the session began
    this.whole = false; // there are no older messages
    this.asked = ""; // the history that was requested: '', 'latest', 'after' or 'before'
    this.past = null; // the part of the history that is shown instead of the newest messages
    this.seek = null; // the message that it is requested for
    this.from = null; // missed messages are requested after this one
    this.behind = null; // the message here that they follow, until all have come
    this.reply = null; // the message that the user answers
    this.editing = null; // the message that the user changes
    this.kept = ""; // what was written before that
    this.reactions = new Map(); // msgid -> the reactions to the message
    this.typing = new Map(); // folded nick -> {nick, until}: who is writing
    this.typedAt = 0; // when the room was told that the user is writing
  }

  /**
   * add puts a message behind all others, as it came, except those of one's own that wait for their
   * echo; false if it is there already.
   */
  add(message) {
    if (!this.take(message)) return false;
    let at = this.messages.length;
    const waits = (m) => m?.pending && !m.failed;
    if (message.told) while (waits(this.messages[at - 1])) at--;
    this.messages.splice(at, 0, message);
    return true;
  }

  /** take notes that the room has a message; false if it had it already. */
  take(message) {
    const key = keyOf(message);
    if (key) {
      if (this.known.has(key)) return false;
      this.known.set(key, message);
    }
    if (message.id && this.gone.has(message.id))
      makeNote(message, this.gone.get(message.id).text);
    if (message.of) this.gone.set(message.of, message);
    return true;
  }

  /**
   * merge puts a page of the history in, whose order is the server's: behind a message of the room,
   * or without one before all that the room has of the history. Messages that are there already
   * show where those beside them belong, and take the order of the page. Lines that are in no
   * history, such as who has joined, have only their times. It returns the messages that are new,
   * and the last one of the page as the room has it.
   */
  merge(page, behind) {
    const old = this.messages;
    const here = new Set(page.map((m) => this.known.get(keyOf(m))));
    here.delete(undefined);
    const places = new Map(); // those of the page that are there already -> where
    if (here.size > 0) old.forEach((m, at) => here.has(m) && places.set(m, at));
    const paged = new Set(); // those of them that were put in
    const rows = [];
    const fresh = [];
    for (const m of page) {
      const at = places.get(this.known.get(keyOf(m)));
      if (at !== undefined && !paged.has(old[at])) {
        paged.add(old[at]);
        rows.push({ m: old[at], at });
      } else if (at === undefined && this.take(m)) {
        fresh.push(m);
        rows.push({ m, at: -1 });
      }
    }
    const list = [];
    let next = 0; // the place of the next old message
    const until = (end) => {
      for (; next < end; next++)
        if (!paged.has(old[next])) list.push(old[next]);
    };
    let begin = behind ? old.indexOf(behind) + 1 : 0;
    if (!behind) {
      // what the history has before the first that is there already comes before the page
      begin = rows.find(({ at }) => at >= 0)?.at ?? 0;
      const stays = (m) => m.told && !paged.has(m);
      while (begin > 0 && !stays(old[begin - 1])) begin--;
    }
    until(begin);
    for (const { m, at } of rows) {
      until(at);
      while (next < old.length && !old[next].told && old[next].time <= m.time)
        until(next + 1);
      list.push(m);
    }
    until(old.length);
    this.messages = list;
    return { fresh, last: rows.at(-1)?.m };
  }

  /** insert puts a line behind a message, or before all if the room has it no more. */
  insert(line, behind) {
    this.messages.splice(this.messages.indexOf(behind) + 1, 0, line);
  }

  /**
   * settle finds the message of one's own that waits for its echo, and makes it the one that
   * came.
   */
  settle(message) {
    const at = this.messages.findIndex(
      (m) =>
        m.pending &&
        m.kind === message.kind &&
        m.text === message.text &&
        (!m.label || !message.label || m.label === message.label),
    );
    if (at < 0) return false;
    this.messages.splice(at, 1);
    return true;
  }

  /** doubt marks what may never have reached the server. */
  doubt() {
    for (const m of this.messages) if (m.pending) m.failed = true;
  }

  /**
   * newest is what history is asked after; oldest what it is asked before. Only what the
   * server has told counts.
   */
  newest() {
    return this.messages.findLast((m) => m.told);
  }

  oldest() {
    return this.messages.find((m) => m.told);
  }

  /** shown are the messages that the user looks at. */
  get shown() {
    return (this.past ?? this).messages;
  }

  /** latest goes back to the newest messages. */
  latest() {
    this.past = this.seek = null;
  }

  find(id) {
    return id ? this.known.get(id) : undefined;
  }

  has(message) {
    return this.known.has(keyOf(message));
  }

  /** apart is an empty room for a part of the history. */
  apart() {
    const past = new Room(this.name, this.isChannel);
    past.keep = this.keep;
    past.most = this.most;
    return past;
  }

  /**
   * part makes all but the newest messages the part of the history that is shown, if the room has
   * too many: the user has read back as far as that. Scrolling joins the two again.
   */
  part() {
    if (this.messages.length <= this.most || this.past) return;
    const past = this.apart();
    past.whole = this.whole;
    for (const m of this.trim(this.keep)) past.add(m);
    this.past = past;
  }

  /** join makes the part of the history that is shown, and the newest messages, one. */
  join() {
    this.merge(this.past.messages);
    this.whole ||= this.past.whole;
    this.past = null;
    this.trim(this.most);
  }

  /** bound forgets messages when others have come, unless somebody may be reading them. */
  bound() {
    const reads = this.reading && !this.past;
    this.trim(reads || this.asked ? this.most : this.keep);
  }

  /**
   * trim forgets the oldest messages beyond so many, and returns them; they can be had from the
   * server again.
   */
  trim(size) {
    if (this.messages.length <= size) return [];
    this.whole = false;
    return this.forget(0, this.messages.length - size);
  }

  /** cut forgets the newest messages beyond the most that there may be. */
  cut() {
    this.forget(this.most, this.messages.length);
  }

  /** forget removes the messages from one place to before another, and returns them. */
  forget(from, to) {
    const list = this.messages.splice(from, to - from);
    for (const m of list) {
      this.known.delete(keyOf(m));
      this.gone.delete(m.of);
    }
    return list;
  }

  /** count makes a message unread, unless it was seen before. */
  count(m) {
    if (m.own || m.time <= this.read) return;
    this.unread++;
    if (m.mention || !this.isChannel) this.mentions++;
  }

  /** recount counts the unread messages again: those after the newest that the user has seen. */
  recount() {
    this.unread = 0;
    this.mentions = 0;
    for (let at = this.messages.length - 1; at >= 0; at--) {
      const m = this.messages[at];
      if (!m.told) continue;
      if (m.time <= this.read) return;
      if (spoken(m)) this.count(m);
    }
  }

  /** look notes that the user has seen all messages. */
  look() {
    this.looked = true;
    this.read = Math.max(this.read, this.newest()?.time ?? 0);
    this.unread = 0;
    this.mentions = 0;
  }
}

/**
 * keyOf is the msgid, or what a server without msgid gives to know a message by: its time, if it
 * says one.
 */
function keyOf(m) {
  if (m.id) return m.id;
  return m.told && m.timed ? `${m.time} ${m.nick} ${m.kind} ${m.text}` : "";
}
