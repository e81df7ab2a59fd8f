// The start of the page: it signs in, connects the session with the connection and the view, and
// stores what must survive a reload.

import { account } from "./account.js";
import { Connection } from "./connection.js";
import { composer } from "./composer.js";
import { deletion } from "./delete.js";
import { finder } from "./find.js";
import { clean } from "./text.js";
import { parse } from "./irc.js";
import { markersWait, sendMarkers } from "./marker.js";
import { pushes } from "./push.js";
import { sender } from "./send.js";
import { Session } from "./session.js";
import { load, save, settings } from "./settings.js";
import { $, View } from "./view.js";

let session = null;
let connection = null;
const view = new View((room) => {
  if (room.unread || room.mentions) view.draw();
  room.look();
  remember();
  if (markersWait(session)) markers ??= setTimeout(mark, 1000);
});

let markers = null;

/** mark tells the other devices of the account what was read. */
function mark() {
  clearTimeout(markers);
  markers = null;
  if (session) sendMarkers(session);
}

const heard = account(() => session);
const device = pushes(() => session);

const socketURL = () =>
  new URL("socket", location.href.replace(/^http/, "ws").replace(/[?#].*$/, ""))
    .href;

// The browser stores the nick, the rooms, and how far each was read. It never stores a password.
let saving = null;
function remember() {
  saving ??= setTimeout(keep, 500);
}

function keep() {
  clearTimeout(saving);
  saving = null;
  if (!session?.registered) return;
  const read = Object.fromEntries(
    [...session.rooms.values()]
      .filter((r) => r.read > 0)
      .map((r) => [r.name, r.read]),
  );
  save("session", {
    nick: session.nick,
    rooms: [...session.wants.keys()],
    read,
    since: session.since,
  });
}
globalThis.addEventListener("pagehide", () => {
  mark();
  keep();
});

function state(text) {
  $("state").textContent = text;
  $("state").hidden = text === "";
}

function refused(why) {
  const again = session?.settings;
  leave();
  $("sign-in-error").textContent = why;
  $("sign-in-error").hidden = false;
  if (again) $("nick").value = again.nick;
  $("nick").focus();
}

/** leave goes back to signing in. */
function leave() {
  find.shut();
  $("found").replaceChildren();
  $("search-said").textContent = "";
  connection?.close();
  connection = session = view.session = null;
  $("chat").hidden = true;
  $("sign-in").hidden = false;
  $("sign-in-form").querySelector("button").disabled = false;
  document.title = "Papaya";
}

const notified = new WeakMap(); // room -> its notification, and the message

/** silence takes a deleted message back from where it was announced. */
function silence(room, m) {
  for (const line of [...$("spoken").children])
    if (line.message === m) line.remove();
  const last = notified.get(room);
  if (last?.message === m) last.notice.close();
}

function announce(room, m) {
  if (room === session.active) {
    const line = document.createElement("p");
    line.textContent = `${clean(m.nick)}: ${clean(m.text)}`;
    line.message = m;
    $("spoken").append(line);
    while ($("spoken").children.length > 20) $("spoken").firstChild.remove();
  }
  const forMe = m.mention || !room.isChannel;
  // a message that came late is unread, but is not notified
  const late = Date.now() - m.time > 60_000;
  if (
    forMe &&
    !late &&
    settings.notify &&
    !(view.seen && room === session.active)
  ) {
    const n = new Notification(
      `${clean(m.nick)}${room.isChannel ? ` in ${room.name}` : ""}`,
      { body: clean(m.text), tag: room.name, icon: "icon.svg" },
    );
    notified.set(room, { notice: n, message: m });
    n.onclick = () => {
      globalThis.focus();
      session?.look(room);
      n.close();
    };
  }
}

function start(given) {
  session = new Session(given, {
    send: (line) => connection?.send(line),
    changed: () => view.draw(),
    message: announce,
    deleted: silence,
    readElsewhere: (room) => {
      view.readElsewhere(room);
      if (room.unread === 0) notified.get(room)?.notice.close();
    },
    find: (words) => find.open(words),
    found: (search) => find.show(search),
    shown: (room, m) => view.show(room, m),
    caughtUp: (room) => view.caughtUp(room),
    served: heard,
    pushed: (verb, endpoint, why) => device.answered(verb, endpoint, why),
    renamed: (name) => device.renamed(name),
    moved: () => remember(), // the rooms to join next time
    joined: (room) => {
      if (
        session.active === session.status ||
        session.goTo === session.fold(room.name)
      )
        session.look(room);
      session.goTo = "";
      remember();
    },
    ready: () => {
      connection.steady();
      state("");
      $("sign-in").hidden = true;
      if ($("chat").hidden) {
        $("chat").hidden = false;
        $("compose").focus();
      }
      for (const id of ["password", "invitation", "pass"]) $(id).value = "";
      view.draw();
      remember();
      device.ready();
    },
    retry: (why) => {
      session.why = why;
      connection.lose();
    },
    refused: (why) => refused(why),
    quit: () => {
      setTimeout(leave, 200); // the QUIT must be sent before the connection is closed
    },
  });
  view.session = session;
  view.room = null;
  connection = new Connection(socketURL(), {
    opened: () => session.opened(),
    line: (line) => session?.receive(line),
    lost: (seconds) => {
      const why = session.why ? ` (${session.why})` : "";
      session.why = "";
      if (!session.registered) {
        refused(`The server cannot be reached${why}.`);
        return;
      }
      session.lost();
      state(`Connection lost${why}. Trying again in ${seconds} s.`);
    },
  });
  connection.open();
}

$("sign-in-form").addEventListener("submit", (event) => {
  event.preventDefault();
  $("sign-in-error").hidden = true;
  $("sign-in-form").querySelector("button").disabled = true;
  const kept = load("session");
  const nick = $("nick").value.trim();
  const same = kept.nick?.toLowerCase() === nick.toLowerCase();
  const name = $("join").value.trim();
  const rooms = new Set(same ? kept.rooms : []);
  if (name) rooms.add(/^[#&]/.test(name) ? name : `#${name}`);
  const password = $("password").value;
  const invitation = $("invitation").value.trim();
  if (invitation && !password) {
    refused("Choose a password for the account that the invitation makes.");
    return;
  }
  start({
    nick,
    account: password ? nick : "",
    password,
    invitation,
    pass: $("pass").value,
    rooms: [...rooms],
    read: same ? kept.read : {},
    since: same ? kept.since : 0,
  });
});

composer(
  () => session,
  view,
  () => leave(),
);
deletion(() => session);
sender(() => session);
const find = finder(() => session);

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") connection?.hurry();
  view.draw();
});
globalThis.addEventListener("focus", () => view.draw());
globalThis.addEventListener("blur", () => view.draw());
globalThis.addEventListener("settings", () => {
  view.quiet = settings.quiet;
  view.draw();
});
view.quiet = settings.quiet;

$("host").textContent = location.host;
$("nick").value = load("session").nick ?? "";
$("join").value = decodeURIComponent(location.hash.slice(1)).replace(
  /^([^#&])/,
  "#$1",
);
$($("nick").value ? "password" : "nick").focus();

// For debugging in the browser's console. Nothing here uses it.
globalThis.papaya = { parse };
