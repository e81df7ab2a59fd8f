// The service worker: it shows what the server pushes while nobody looks at the page, and leads to
// the room. A push is one line of IRC (draft/webpush of IRCv3), which the browser has decrypted. It
// also keeps the files of the page, and shows them while the server cannot be reached.

const longest = 300; // characters that are shown

/** form is a line of the server's: tags, who, from where, to whom, and what. */
const form =
  /^(?:@\S+ )?:([^ !]+)(!\S+)? (?:PRIVMSG|NOTICE) (\S+) :?([^\r\n]*)/;

const colours = /\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9a-f]{6})?/gi;

/** hidden are formats of IRC, and characters that hide or reverse text. */
const hidden = /[\0-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const clean = (text) =>
  text.replace(colours, "").replace(hidden, "").slice(0, longest);

/** read makes of a push what is shown: a title, a text, and where it leads. */
function read(line) {
  const found = form.exec(line);
  if (!found) return { title: "Papaya", body: "Something was said", where: "" };
  const [, nick, address, target, text] = found;
  if (!address) return { title: "Papaya", body: clean(text), where: "" }; // the server itself
  const room = target.startsWith("#");
  const action = /^\x01ACTION (.*?)\x01?$/.exec(text);
  return {
    title: clean(room ? `${nick} in ${target}` : nick),
    body: clean(action ? `${nick} ${action[1]}` : text),
    where: room ? target : nick,
  };
}

const pages = () =>
  self.clients.matchAll({ type: "window", includeUncontrolled: true });

async function show(line) {
  const { title, body, where } = read(line);
  if ((await pages()).some((page) => page.focused)) return; // the user sees it there
  await self.registration.showNotification(title, {
    body,
    icon: "icon.svg",
    tag: where, // the next one of the same room takes its place
    renotify: where !== "",
    data: { where },
  });
}

/** go leads to a room or conversation: in a page that is open, or in a new one. */
async function go(where) {
  const open = await pages();
  const page = open.find((p) => p.visibilityState === "visible") ?? open[0];
  if (page) {
    page.postMessage({ go: where });
    return page.focus();
  }
  const word = encodeURIComponent(where);
  const start = where.startsWith("#") ? `./#${word}` : `./?talk=${word}`;
  return self.clients.openWindow(where ? start : "./");
}

const cacheName = "page";

/** fileOf is the address of a file of the page, or "" for anything else. */
function fileOf(address) {
  const { scope } = self.registration;
  const [plain] = address.split(/[?#]/);
  const name = plain.startsWith(scope) ? plain.slice(scope.length) : "/";
  return /^([a-z]+\.(js|css|svg|webmanifest))?$/.test(name) ? plain : "";
}

/** keep keeps the files of a page that works, all of them or none. */
async function keep(addresses) {
  const cache = await caches.open(cacheName);
  const files = addresses.map((a) => fileOf(String(a))).filter(Boolean);
  await cache.addAll([...new Set(files)]);
}

/** serve asks the server first, so the page is never older than that. */
async function serve(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const cache = await caches.open(cacheName);
    const kept = await cache.match(fileOf(request.url));
    if (kept) return kept;
    throw error;
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && fileOf(request.url))
    event.respondWith(serve(request));
});
self.addEventListener("message", (event) => {
  const wanted = event.data?.keep;
  if (Array.isArray(wanted)) event.waitUntil(keep(wanted));
});
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) =>
  event.waitUntil(self.clients.claim()),
);
self.addEventListener("push", (event) =>
  event.waitUntil(show(event.data?.text() ?? "")),
);
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(go(event.notification.data?.where ?? ""));
});
