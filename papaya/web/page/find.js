// The panel in which the user searches. Each result leads to the message among those around it.

import { seek } from "./past.js";
import { offersSearch, search, searchable } from "./search.js";
import { clean } from "./text.js";
import { hue } from "./timeline.js";
import { $ } from "./view.js";

const shown = 300; // characters of a message in the list
const when = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "short",
});

/** finder makes the panel work. It returns open(words), shut() and show(search). */
export function finder(current) {
  const chat = $("chat");
  const narrow = matchMedia("(max-width: 1000px)");

  function open(words = "") {
    chat.classList.add("open-search");
    $("show-search").setAttribute("aria-expanded", "true");
    const session = current();
    const here = session && session.active !== session.status;
    $("search-here").disabled = !here;
    $("search-here-name").textContent = here ? session.active.name : "the room";
    if (!here) $("search-all").checked = true;
    if (words) {
      $("search-words").value = words;
      if (here) $("search-here").checked = true;
      run();
    }
    $("search-words").focus();
    $("search-words").select();
  }
  function shut() {
    const had = $("search-pane").contains(document.activeElement);
    chat.classList.remove("open-search");
    $("show-search").setAttribute("aria-expanded", "false");
    if (had) $("show-search").focus();
  }
  function run() {
    const session = current();
    const words = $("search-words").value.trim();
    $("found").replaceChildren();
    if (!session || !words) return;
    if (session.state !== "ready") say("Not connected.");
    else if (!offersSearch(session)) say("This server does not offer search.");
    else
      search(
        session,
        $("search-all").checked ? searchable(session) : [session.active],
        words,
      );
  }
  const say = (text) => ($("search-said").textContent = text);

  /** show shows what is known of a search. */
  function show({ text, hits, older, room }) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    $("found").replaceChildren(...hits.map((hit) => result(hit, words)));
    const n = hits.length;
    let told =
      n === 0 ? "Nothing was found." : `${n} message${n === 1 ? "" : "s"}.`;
    if (older.length > 0)
      told += ` There are older ones in ${older.join(", ")}.`;
    say(room ? `Searching ${room.name} …` : told);
  }
  function result({ room, m }, words) {
    const li = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const head = document.createElement("span");
    head.className = "hit-head";
    const nick = document.createElement("span");
    nick.className = `nick ${hue(m.nick)}`;
    nick.textContent = clean(m.nick);
    const where = document.createElement("span");
    where.className = "hint";
    const place = room.isChannel ? room.name : `with ${room.name}`;
    where.textContent = `${place} · ${when.format(m.time)}`;
    head.append(nick, where);
    const text = document.createElement("span");
    text.className = "hit-text";
    text.append(...marked(clean(m.text), words));
    button.append(head, text);
    button.addEventListener("click", () => {
      if (narrow.matches) shut();
      const now = current()?.find(room.name);
      if (!now) say(`You are not in ${room.name} any more.`);
      else if (!seek(current(), now, m))
        say("The messages around it cannot be loaded now.");
    });
    li.append(button);
    return li;
  }

  $("show-search").addEventListener("click", () =>
    chat.classList.contains("open-search") ? shut() : open(),
  );
  $("shut-search").addEventListener("click", shut);
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  $("search-pane").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    event.preventDefault(); // else it would empty the field
    shut();
  });
  return { open, shut, show };
}

/** marked is the part of a text around the first of the words, with all of them marked. */
function marked(text, words) {
  const low = text.toLowerCase();
  // lower case may have another length, and then its places are of no use
  const same = low.length === text.length;
  const places = same
    ? words.map((w) => low.indexOf(w)).filter((at) => at >= 0)
    : [];
  const from = Math.max(0, Math.min(...places, text.length) - 80);
  const begin = places.length > 0 && from > 0 ? from : 0;
  const part = text.slice(begin, begin + shown);
  const out = [begin > 0 ? "…" : ""];
  let at = 0;
  while (at < part.length) {
    const word = same
      ? words.find((w) => low.startsWith(w, begin + at))
      : undefined;
    if (word) {
      const mark = document.createElement("mark");
      mark.textContent = part.slice(at, at + word.length);
      out.push(mark);
      at += word.length;
    } else {
      const last = out.at(-1);
      if (typeof last === "string") out[out.length - 1] = last + part[at];
      else out.push(part[at]);
      at++;
    }
  }
  if (begin + shown < text.length) out.push("…");
  return out;
}
