// Files in messages. A link to a file of this server is shown as a thumbnail, or as a card with its
// name and size. Nothing of a file becomes a part of the page but a picture that the server has
// made.

import { clean, links } from "./text.js";

const maxCards = 10; // files that are shown of one message
const widest = 320; // pixels of the page: a picture is made smaller
const highest = 240;
const shownFacts = 1000; // files of which the page remembers what they are

/** size is a number of bytes for people. */
export function size(n) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit > 0 && n < 10 ? Math.round(n * 10) / 10 : Math.round(n)} ${units[unit]}`;
}

/**
 * ownPath is the path of a link to a file of this server, as the page reaches it, or nothing. The
 * server may have another name in links than in the address of the page, so filehost, the URL to
 * which files are posted, is what both have in common.
 */
export function ownPath(href, filehost) {
  const base = (filehost ?? "").replace(/upload$/, "");
  if (!base.endsWith("/") || !href.startsWith(base)) return "";
  const path = href.slice(base.length);
  return /^file\/[A-Z2-7]{26}\/[^/?#]+$/.test(path) ? path : "";
}

/** filesIn are the links to files of this server in a text, each once. */
export function filesIn(text, filehost) {
  if (!filehost) return [];
  const found = new Map();
  for (const { href } of links(text)) {
    const path = href && ownPath(href, filehost);
    if (path && found.size < maxCards) found.set(path, href);
  }
  return [...found].map(([path, href]) => ({ path, href }));
}

const known = new Map(); // path -> a promise of what the file is

/** factsOf asks the server what a file is: null if it is gone. */
function factsOf(path) {
  let facts = known.get(path);
  if (!facts) {
    facts = fetch(`${path}?facts`, { credentials: "omit" }).then((r) => {
      if (r.status === 404) return null;
      if (!r.ok) throw new Error(`status ${r.status}`);
      return r.json();
    });
    facts.catch(() => known.delete(path)); // it is asked again when it is drawn again
    known.set(path, facts);
    if (known.size > shownFacts) known.delete(known.keys().next().value);
  }
  return facts;
}

/** nameIn is the name in a link, until the server has told it. */
function nameIn(path) {
  try {
    return clean(decodeURIComponent(path.slice(path.lastIndexOf("/") + 1)));
  } catch {
    return "file";
  }
}

/** attach shows the files of a message behind its text, or instead of it if it has links only. */
export function attach(text, m, filehost) {
  const files = filesIn(m.text, filehost);
  if (files.length === 0) return;
  const list = document.createElement("div");
  list.className = "files";
  for (const { path } of files) {
    const card = document.createElement("a");
    card.className = "file";
    card.href = path;
    card.target = "_blank";
    card.rel = "noopener noreferrer nofollow";
    describe(card, nameIn(path), "…");
    list.append(card);
    factsOf(path).then(
      (facts) => show(card, path, facts),
      () => describe(card, nameIn(path), "cannot be reached"),
    );
  }
  const hrefs = new Set(files.map(({ href }) => href));
  if (m.text.split(/\s+/).every((word) => word === "" || hrefs.has(word)))
    text.replaceChildren();
  text.append(list);
}

/**
 * fileIsGone is called when a file was deleted, with the server's name of it: the first digits of
 * the SHA-256 of its token. Its cards say that it is gone.
 */
export async function fileIsGone(id) {
  for (const path of [...known.keys()]) {
    const token = new TextEncoder().encode(path.split("/")[1]);
    const sum = await crypto.subtle?.digest("SHA-256", token);
    const hex = [...new Uint8Array(sum ?? 0)]
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join("");
    if (!sum || !hex.startsWith(id)) continue;
    known.set(path, Promise.resolve(null));
    for (const card of document.querySelectorAll("#messages .file"))
      if (card.getAttribute("href") === path) show(card, path, null);
  }
}

function show(card, path, facts) {
  if (!facts) {
    describe(card, nameIn(path), "is not there any more");
    card.removeAttribute("href");
    return;
  }
  const name = clean(facts.name);
  if (!facts.width) {
    describe(card, name, size(facts.size));
    return;
  }
  const image = document.createElement("img");
  image.src = `${path}?thumbnail`;
  image.alt = name;
  image.title = `${name}, ${size(facts.size)}`;
  const by = Math.min(1, widest / facts.width, highest / facts.height);
  image.width = Math.max(1, Math.round(facts.width * by)); // it has room before it is there
  image.height = Math.max(1, Math.round(facts.height * by));
  image.loading = "lazy";
  image.addEventListener("error", () =>
    describe(card, name, "is not there any more"),
  );
  card.classList.add("picture");
  card.replaceChildren(image);
}

/** describe makes a card of a name, and of its size or what is wrong with it. */
function describe(card, name, words) {
  const what = document.createElement("span");
  what.className = "file-name";
  what.textContent = name;
  const about = document.createElement("span");
  about.className = "hint";
  about.textContent = words;
  card.classList.remove("picture");
  card.replaceChildren(what, about);
}
