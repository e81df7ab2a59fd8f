// The start of the page: it signs in, connects the session with the connection and the view, and
// stores what must survive a reload.

import { account } from "./account.js";
import { answering } from "./answer.js";
import { Connection } from "./connection.js";
import { composer } from "./composer.js";
import { deletion } from "./delete.js";
import { finder } from "./find.js";
import { clean } from "./text.js";
import { parse } from "./irc.js";
import { keys } from "./keys.js";
import { markersWait, sendMarkers } from "./marker.js";
import { moderation } from "./moderate.js";
import { closing } from "./preview.js";
import { pushes } from "./push.js";
import { keepPage, keepSeen, recall } from "./seen.js";
import { sender } from "./send.js";
import { Session } from "./session.js";
import { roomPanel } from "./roompanel.js";
import { load, save, settings } from "./settings.js";
import { begin, endAtSignOut, over, staying, stays } from "./stay.js";
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

const own = account(() => session, changedPassword);
const moderator = moderation(() => session);
const device = pushes(() => session);
const rules = roomPanel(() => session);

const socketURL = () =>
  new URL("socket", location.href.replace(/^http/, "ws").replace(/[?#].*$/, ""))
    .href;

/** changedPassword goes on with a new password, which has ended the token of this device. */
async function changedPassword(password) {
  const { settings: given } = session;
  if (given.stays && (await stay(given, password))) reopen(given);
  else given.password = password;
}

/** stay keeps this device signed in, if it can, and says whether it is. */
async function stay(given, password) {
  const { why, wrong } = await begin(given.account, password);
  given.wrong = wrong ? why : "";
  given.stays = why === "";
  given.password = given.stays ? "" : password;
  if (why) given.told = `This device does not stay signed in: ${why}.`;
  return given.stays;
}

/** reopen connects again, with the token of this device. */
function reopen(given) {
  if (session?.settings !== given) return; // the user has left meanwhile
  session.lost();
  connection.reopen();
}

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
  note();
});

// A device that stays signed in keeps what was read, so that it can be read without a connection.
let noting = null;
function note() {
  clearTimeout(noting);
  noting = null;
  if (session?.registered && staying() === session.settings.account)
    keepSeen(session);
}

function state(text) {
  $("state").textContent = text;
  $("state").hidden = text === "";
}

function refused(why) {
  const again = session?.settings;
  const ended = why === over;
  // another tab may have signed this browser in to another account meanwhile
  if (again?.stays && ended && staying() === again.account) stays("");
  leave();
  $("sign-in-error").textContent = ended
    ? "This device is not signed in any more. Sign in with your password."
    : why;
  $("sign-in-error").hidden = false;
  if (again) $("nick").value = again.nick;
  $("nick").focus();
}

/** show shows the chat. */
function show() {
  $("sign-in").hidden = true;
  if (!$("chat").hidden) return;
  $("chat").hidden = false;
  $("compose").focus();
}

/** leave goes back to signing in. */
function leave() {
  // a dialog that is open would keep the user from signing in
  for (const open of document.querySelectorAll("dialog[open]")) open.close("");
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
  moderator.begin();
  session = new Session(given, {
    send: (line) => connection?.send(line),
    changed: () => {
      view.draw();
      if (given.stays && session?.registered) noting ??= setTimeout(note, 5000);
    },
    message: announce,
    deleted: silence,
    readElsewhere: (room) => {
      view.readElsewhere(room);
      if (room.unread === 0) notified.get(room)?.notice.close();
    },
    find: (words) => find.open(words),
    keys: () => showKeys(),
    found: (search) => find.show(search),
    shown: (room, m) => view.show(room, m),
    caughtUp: (room) => view.caughtUp(room),
    served: own.heard,
    ponged: own.ponged,
    operated: (text) => moderator.heard(text),
    operating: (is) => moderator.operating(is),
    ruled: (room) => rules(room),
    pushed: (verb, endpoint, why) => device.answered(verb, endpoint, why),
    renamed: (name) => {
      device.renamed(name);
      if (given.stays) stays(name);
    },
    registered: () => {
      // the account was made just now: it stays from its next connection on
      if (!given.wish) return false;
      given.wish = false;
      stay(given, given.password).then((done) => {
        if (done) reopen(given);
        else if (session?.settings === given) session.negotiated();
      });
      return true;
    },
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
      show();
      if (given.stays) keepPage();
      for (const id of ["password", "invitation", "pass"]) $(id).value = "";
      if (given.told) $("told").textContent = given.told;
      given.told = "";
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
  const recalled = given.stays && recall(session);
  view.session = session;
  view.room = null;
  connection = new Connection(socketURL(), {
    opened: () => session.opened(),
    line: (line) => session?.receive(line),
    lost: (seconds) => {
      const why = session.why ? ` (${session.why})` : "";
      session.why = "";
      if (!session.registered && !recalled) {
        refused(`The server cannot be reached${why}.`);
        return;
      }
      if (!session.registered) show();
      session.lost();
      state(`Connection lost${why}. Trying again in ${seconds} s.`);
    },
  });
  connection.open();
}

/** rest are the settings of a session that a page before has kept in the browser, for a nick. */
function rest(nick) {
  const kept = load("session");
  const same = kept.nick?.toLowerCase() === nick.toLowerCase();
  const name = $("join").value.trim();
  const rooms = new Set(same ? kept.rooms : []);
  if (name) rooms.add(/^[#&]/.test(name) ? name : `#${name}`);
  return {
    nick,
    rooms: [...rooms],
    read: same ? kept.read : {},
    since: same ? kept.since : 0,
  };
}

/** goOn signs in to the account that this device stays signed in to. */
function goOn(nick) {
  $("sign-in-form").querySelector("button").disabled = true;
  start({ ...rest(nick), account: staying(), password: "", stays: true });
}

$("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("sign-in-error").hidden = true;
  $("sign-in-form").querySelector("button").disabled = true;
  const nick = $("nick").value.trim();
  const password = $("password").value;
  const invitation = $("invitation").value.trim();
  if (invitation && !password) {
    refused("Choose a password for the account that the invitation makes.");
    return;
  }
  if (!password && staying()) {
    goOn(nick);
    return;
  }
  const given = {
    ...rest(nick),
    account: password ? nick : "",
    password,
    invitation,
    pass: $("pass").value,
  };
  const wish = $("stay").checked && password !== "";
  if (wish && !invitation) {
    await stay(given, password);
    if (given.wrong) {
      refused(given.wrong);
      return;
    }
  }
  given.wish = wish && invitation !== "";
  start(given);
});

const change = answering(() => session, view);
composer(
  () => session,
  view,
  () => leave(),
  change,
);
deletion(() => session);
closing($("messages"), () => session);
sender(() => session);
const find = finder(() => session);
const showKeys = keys(() => session, view, find);

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") connection?.hurry();
  view.draw();
});
globalThis.addEventListener("focus", () => view.draw());
globalThis.addEventListener("blur", () => view.draw());
globalThis.addEventListener("settings", () => {
  view.quiet = settings.quiet;
  view.previews = settings.previews;
  view.draw();
});
view.quiet = settings.quiet;
view.previews = settings.previews;

$("host").textContent = location.host;
$("nick").value = load("session").nick ?? "";
$("join").value = decodeURIComponent(location.hash.slice(1)).replace(
  /^([^#&])/,
  "#$1",
);
$($("nick").value ? "password" : "nick").focus();
endAtSignOut($("sign-out"));
if (staying()) goOn($("nick").value || staying());

// For debugging in the browser's console. Nothing here uses it.
globalThis.papaya = { parse };
