// The page as the state of the session. draw may be called often: several calls paint the page
// once.

import { editable, end } from "./edit.js";
import { newer } from "./past.js";
import { dressAll, paintAside, paintFace } from "./person.js";
import { presenceOf } from "./presence.js";
import { deletable } from "./redact.js";
import { answerable, quote } from "./reply.js";
import { reportable } from "./reports.js";
import { clean } from "./text.js";
import { Scroller } from "./scroller.js";
import { hue } from "./timeline.js";
import { writers } from "./typing.js";

export const $ = (id) => document.getElementById(id);

const near = 48; // px from the end that still count as its end
const early = 200; // px from the beginning at which older messages are requested

export class View {
  constructor(look) {
    this.look = look; // called when the user sees the end of the room
    this.session = null;
    this.room = null;
    this.from = 0; // messages of this room after this time are new
    this.missed = false; // it has unread messages that the user does not see
    this.quiet = false;
    this.previews = true;
    this.atEnd = true;
    this.due = null;
    this.target = null; // a message to scroll to
    this.list = new Scroller($("scroll"), $("messages"));
    $("scroll").addEventListener("scroll", () => this.scrolled(), {
      passive: true,
    });
    $("newer").addEventListener("click", () => this.newest());
    const resized = new ResizeObserver(() => {
      // nothing may be drawn here: the browser would report a loop
      if (this.list.resized(this.atEnd)) this.draw();
    });
    resized.observe($("scroll"));
    resized.observe($("messages")); // a file is drawn when the server has told what it is
  }

  get seen() {
    return (
      document.visibilityState === "visible" &&
      document.hasFocus() &&
      this.atEnd &&
      !this.room?.past
    );
  }

  /** draw paints soon. A timer, not a frame: a page that is not seen has no frames, but a title. */
  draw() {
    this.due ??= setTimeout(() => {
      this.due = null;
      if (this.session) this.paint(this.session);
    }, 16);
  }

  paint(session) {
    const { active: room } = session;
    const changed = room !== this.room;
    if (changed) this.enter(room);
    const missed = !this.seen && room.unread > 0;
    if (missed && !this.missed) this.from = room.read;
    this.missed = missed;
    const marks = this.list.marks();
    this.head(session, room);
    this.about(room);
    this.typing(session, room);
    this.rooms(session);
    this.members(session, room);
    const how = {
      unreadFrom: this.from,
      quiet: this.quiet,
      mayDelete: deletable(session, room),
      mayReport: reportable(session),
      mayAnswer: answerable(session, room),
      mayEdit: editable(session, room),
      reactions: room.reactions,
      mine: (nick) => session.isMe(nick),
      filehost: session.support.filehost,
      previews: this.previews ? session.previews : undefined,
      find: (id) => (room.past ?? room).find(id),
      whole: (room.past ?? room).whole,
    };
    const atEnd = changed || (this.atEnd && !this.target);
    this.list.show(room.shown, how, marks, atEnd);
    dressAll($("messages"), session);
    if (this.target) this.reveal();
    else if (atEnd) this.atEnd = true;
    room.reading = !this.atEnd;
    const waits = !this.atEnd && room.unread > 0;
    $("newer").hidden = this.atEnd;
    $("newer").textContent = waits
      ? `${room.unread} new below`
      : "To the newest";
    if (this.seen) this.look(room);
    this.more();
  }

  /** show shows a message in the middle of the page. */
  show(room, message) {
    this.session.look(room);
    this.target = message;
    this.draw();
  }

  reveal() {
    const at = this.list.rows.indexOf(this.target);
    this.target = null;
    this.atEnd = false;
    if (at < 0) return;
    const node = this.list.reach(at);
    node.scrollIntoView({ block: "center" });
    this.list.slide();
    for (const other of $("messages").querySelectorAll("[data-sought]"))
      delete other.dataset.sought;
    node.dataset.sought = "";
    node.focus({ preventScroll: true });
  }

  enter(room) {
    this.room?.latest();
    if (this.room) this.room.reading = false;
    this.room = room;
    this.missed = room.unread > 0;
    this.from = this.missed ? room.read : 0;
    this.atEnd = true;
    this.list.clear();
    this.write(room);
    $("told").textContent = "";
  }

  /** caughtUp marks where the messages begin that were missed in the room on the page. */
  caughtUp(room) {
    if (room === this.room && this.from === 0 && room.unread > 0)
      this.from = room.read;
  }

  /** readElsewhere moves the line "new" to what is still unread, or removes it. */
  readElsewhere(room) {
    if (room === this.room) this.from = room.unread > 0 ? room.read : 0;
  }

  head(session, room) {
    const title =
      room === session.status ? session.support.network || "Server" : room.name;
    set($("room-name"), title);
    const talk = !room.isChannel && room !== session.status;
    const topic = talk ? presenceOf(session, room.name) : clean(room.topic);
    set($("topic"), topic);
    $("topic").title = topic;
    set(
      $("beginning"),
      /before$/.test(room.asked)
        ? "Fetching what was said before"
        : `This is where ${title} begins`,
    );
    $("beginning").hidden = !(
      /before$/.test(room.asked) ||
      ((room.past ?? room).whole && room !== session.status)
    );
    $("compose").placeholder =
      room === session.status
        ? "A command, such as /join #room"
        : `Write to ${title}`;
    $("send-file").hidden = !session.support.filehost;
    set($("network"), session.support.network || "Papaya");
    set($("me"), session.nick);
    $("me").className = `me-nick ${hue(session.nick)}`;
    $("away").setAttribute("aria-pressed", String(session.away));
    let [unread, mentions] = [0, 0];
    for (const r of session.rooms.values()) {
      if (r === room && this.seen) continue;
      unread += r.unread;
      mentions += r.mentions;
    }
    set($("elsewhere"), mentions > 0 ? count(mentions) : "");
    $("elsewhere").hidden = unread === 0;
    $("show-rooms").setAttribute(
      "aria-label",
      unread ? `Rooms, ${unread} unread` : "Rooms",
    );
    document.title = `${mentions ? `(${count(mentions)}) ` : unread ? "• " : ""}${title} · Papaya`;
  }

  /** typing shows who is writing, until that ends. */
  typing(session, room) {
    set($("typing"), writers(room, session.now()));
    clearTimeout(this.ends);
    if (room.typing.size > 0) this.ends = setTimeout(() => this.draw(), 1000);
  }

  /** about shows which message the user answers or changes. */
  about(room) {
    if (room.reply?.kind === "deleted") room.reply = null;
    if (room.editing?.kind === "deleted") {
      end(room);
      this.write(room);
    }
    const { reply, editing } = room;
    $("replying").hidden = !reply && !editing;
    let words = reply ? `Reply to ${quote(reply)}` : "";
    if (editing) words = `Edit ${quote(editing)}`;
    set($("replying-to"), words);
    const not = `Do not ${editing ? "edit" : "reply"}`;
    $("reply-not").setAttribute("aria-label", not);
  }

  /** write puts what is written for a room into the box. */
  write(room) {
    $("compose").value = room.draft ?? "";
    $("compose").dispatchEvent(new Event("input"));
  }

  rooms(session) {
    const all = [...session.rooms.values()].sort(
      (a, b) => b.isChannel - a.isChannel || a.name.localeCompare(b.name),
    );
    keyed(
      $("rooms"),
      [session.status, ...all],
      (room) => (room === session.status ? "*" : session.fold(room.name)),
      (li, room) => {
        if (!li.firstChild) {
          const open = document.createElement("button");
          open.type = "button";
          open.className = "room";
          const words = document.createElement("span");
          words.className = "unseen";
          const presence = document.createElement("span");
          presence.className = "presence";
          open.append(
            document.createElement("span"),
            presence,
            document.createElement("span"),
            words,
          );
          const shut = document.createElement("button");
          shut.type = "button";
          shut.className = "shut";
          shut.textContent = "×";
          li.append(open, shut);
        }
        const [open, shut] = li.children;
        const name = room === session.status ? "Server" : room.name;
        const unread = room === session.active && this.seen ? 0 : room.unread;
        open.classList.toggle("unread", unread > 0);
        open.classList.toggle("absent", room.isChannel && !room.joined);
        if (room === session.active) open.setAttribute("aria-current", "page");
        else open.removeAttribute("aria-current");
        set(open.children[0], name);
        const talk = !room.isChannel && room !== session.status;
        const presence = talk ? presenceOf(session, room.name) : "";
        set(open.children[1], presence && ` ${presence}`);
        open.children[2].className =
          room.mentions > 0 && unread > 0 ? "badge hot" : "badge";
        set(open.children[2], unread > 0 ? count(unread) : "");
        const hot = room.mentions ? ", for you" : "";
        set(open.children[3], unread > 0 ? ` unread${hot}` : "");
        shut.hidden = room === session.status;
        shut.setAttribute(
          "aria-label",
          `${room.isChannel ? "Leave" : "Close"} ${name}`,
        );
      },
    );
  }

  members(session, room) {
    const rank = (m) =>
      m.prefix ? session.support.prefixes.indexOf(m.prefix) : 99;
    const all = [...room.members.values()].sort(
      (a, b) => rank(a) - rank(b) || a.nick.localeCompare(b.nick),
    );
    $("show-members").hidden = !room.isChannel;
    $("show-room").hidden = !room.isChannel;
    $("chat").classList.toggle("without-members", !room.isChannel);
    set($("member-count"), room.isChannel ? String(all.length) : "");
    $("show-members").setAttribute("aria-label", `People: ${all.length}`);
    set($("members-title"), `People: ${all.length}`);
    keyed(
      $("members"),
      all,
      (m) => session.fold(m.nick),
      (li, m) => {
        if (!li.firstChild) {
          const button = document.createElement("button");
          button.type = "button";
          for (const part of ["face", "name", "aside", "mark"]) {
            const span = document.createElement("span");
            span.className = part;
            button.append(span);
          }
          li.append(button);
        }
        const [face, nick, aside, mark] = li.firstChild.children;
        li.classList.toggle("away", m.away);
        face.classList.add(hue(m.nick)); // the element is that of the nick
        face.setAttribute("aria-hidden", "true");
        paintFace(face, m.nick);
        set(nick, clean(m.nick));
        paintAside(aside, m.nick, m.bot);
        set(
          mark,
          m.away
            ? "away"
            : ({
                "@": "operator",
                "+": "voice",
                "~": "owner",
                "&": "admin",
                "%": "half-op",
              }[m.prefix] ?? ""),
        );
      },
    );
  }

  scrolled() {
    const scroll = $("scroll");
    const was = this.atEnd;
    this.atEnd =
      scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < near;
    if (this.atEnd && this.room?.past) {
      this.atEnd = false;
      newer(this.session, this.room);
    }
    if (this.room) this.room.reading = !this.atEnd;
    this.list.slide();
    if (was !== this.atEnd) this.draw();
    this.more();
  }

  /** more asks for what is older when the beginning is near. */
  more() {
    const scroll = $("scroll");
    if (
      this.session &&
      scroll.scrollTop < early &&
      this.room === this.session.active &&
      this.session.older(this.room)
    )
      this.draw();
  }

  /** newest goes to the newest messages. */
  newest() {
    this.room?.latest();
    this.atEnd = true;
    this.draw();
  }
}

const count = (n) => (n > 99 ? "99+" : String(n));

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** keyed makes a list show the items, each in the element that it had before. */
function keyed(list, items, keyOf, fill) {
  const old = new Map([...list.children].map((li) => [li.dataset.key, li]));
  let at = list.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let li = old.get(key);
    if (!li) {
      li = document.createElement("li");
      li.dataset.key = key;
    }
    old.delete(key);
    fill(li, item);
    if (li === at) at = at.nextElementSibling;
    else list.insertBefore(li, at);
  }
  for (const li of old.values()) li.remove();
}
