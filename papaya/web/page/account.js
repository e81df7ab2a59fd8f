// What users do with their own account, in the settings: its password, its name, its sessions, its
// tokens, its certificates and its files. The page asks NickServ, as users of other clients do, and
// reads the answers.

import { fileIsGone, size } from "./files.js";
import { isThisDevice } from "./push.js";
import { clean } from "./text.js";
import { $ } from "./view.js";

/** quoted makes one word of a text that may have blanks. */
const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&")}"`;

/** row makes a line of a list with a button, or without. */
function row(text, what, act) {
  const item = document.createElement("li");
  const words = document.createElement("span");
  words.textContent = clean(text);
  item.append(words);
  if (act) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = what;
    button.setAttribute("aria-label", `${what}: ${clean(text)}`);
    button.addEventListener("click", act);
    item.append(button);
  }
  return item;
}

/** session makes a row of "session 3 from=127.0.0.1 since=… server=chat tls here". */
function session(text, ask) {
  const [, id, ...words] = text.split(" ");
  const value = (key) =>
    words.find((w) => w.startsWith(`${key}=`))?.slice(key.length + 1) ?? "";
  const since = new Date(value("since"));
  const when = Number.isNaN(since.getTime()) ? "" : since.toLocaleString();
  const here = words.includes("here");
  return row(
    `${value("from")}, since ${when}${here ? ", this one" : ""}`,
    "End",
    here ? null : () => ask(`LOGOUT ${id}`),
  );
}

/** day is a date for people; "" if it is none. */
function day(text) {
  const when = new Date(text);
  return Number.isNaN(when.getTime()) ? "" : when.toLocaleDateString();
}

/** token makes a row of "token 0a1b… made=… used=… here a name". */
function token(text, ask) {
  const [, id = "", made = "", used = "", where = "", ...name] =
    text.split(" ");
  const since = day(made.replace(/^made=/, ""));
  const last = day(used.replace(/^used=/, ""));
  const here = where === "here";
  return row(
    `${name.join(" ")}, since ${since}, last used ${last}${here ? ", this one" : ""}`,
    "End",
    here ? null : () => ask(`TOKEN DEL ${id}`),
  );
}

/** device makes a row of "push 0a1b… to=push.example since=… ntfy". */
function device(text, ask) {
  const [, id = "", to = "", since = "", kind = ""] = text.split(" ");
  const when = day(since.replace(/^since=/, ""));
  const here = isThisDevice(id);
  const by = to.replace(/^to=/, kind === "ntfy" ? "a topic of " : "by ");
  return row(
    `${by}, since ${when}${here ? ", this one" : ""}`,
    "End",
    here ? null : () => ask(`PUSH DEL ${id}`),
  );
}

/** file makes a row of "file 0a1b… size=5 made=… type=… a name". A second press removes it. */
function file(text, remove) {
  const [, id = "", bytes = "", made = "", , ...name] = text.split(" ");
  const when = day(made.replace(/^made=/, ""));
  const what = size(Number(bytes.replace(/^size=/, "")) || 0);
  const item = row(`${name.join(" ")}, ${what}, ${when}`, "Delete", () => {
    const button = item.querySelector("button");
    if (button.textContent !== sure) {
      button.textContent = sure;
      button.setAttribute("aria-label", `${sure} ${clean(name.join(" "))}`);
      return;
    }
    remove(id);
  });
  item.dataset.file = id;
  return item;
}

const sure = "Really delete";

/** fence and a number are the word of the PING before the questions for a list. */
const fence = "lists-";

/**
 * account connects the settings' part with the current session, and returns what hears NickServ and
 * PONG. changed is told a new password.
 */
export function account(current, changed) {
  let wanted = ""; // the password that is being set
  let said = "account-said"; // the place of the next answer that is no list
  // The server answers in the order of the questions. What it says before the PONG of the last list
  // belongs to a list before, which would double the rows of the last one or bring old ones back.
  let asked = 0; // the list that was asked for last
  let coming = 0; // the list whose rows come now
  const shown = () => $("settings").open && !$("account").hidden;

  function ask(words) {
    current()?.send("NS", words);
  }

  function clear() {
    for (const id of [
      "sessions",
      "tokens",
      "certificates",
      "pushes",
      "own-files",
    ])
      $(id).replaceChildren();
    $("own-files-said").textContent = "";
  }

  function list() {
    asked += 1;
    current()?.send("PING", `${fence}${asked}`);
    ask("SESSIONS");
    ask("TOKEN LIST");
    ask("CERT LIST");
    if (current()?.has("draft/webpush")) ask("PUSH LIST");
    if (current()?.support.filehost) ask("FILE LIST");
  }

  /** proof is the password, as the last word of a command, if it is entered. */
  function proof() {
    const password = $("old-password").value;
    return password ? ` ${quoted(password)}` : "";
  }

  function change(words, place = "account-said") {
    said = place;
    ask(words);
    list();
  }

  const rowOf = (id) =>
    [...$("own-files").children].find((item) => item.dataset.file === id);

  /** removeFile takes a file from the list that the server has deleted. */
  function removeFile(id) {
    rowOf(id)?.remove();
    fileIsGone(id);
  }

  $("settings-button").addEventListener("click", () => {
    const name = current()?.settings.account ?? "";
    $("account").hidden = name === "";
    $("account-name").textContent = clean(name);
    for (const id of ["account-said", "token-made", "topic-said"])
      $(id).textContent = "";
    $("topic-form").hidden = !current()?.has("draft/webpush");
    clear();
    if (name) list();
  });
  $("settings").addEventListener("close", () => {
    wanted = $("token-made").textContent = "";
    for (const id of [
      "old-password",
      "new-password",
      "new-name",
      "token-name",
      "topic-url",
      "topic-token",
    ])
      $(id).value = "";
  });
  $("password-form").addEventListener("submit", (event) => {
    event.preventDefault();
    wanted = $("new-password").value;
    said = "account-said";
    if (wanted)
      ask(`PASSWD ${quoted($("old-password").value)} ${quoted(wanted)}`);
  });
  $("rename-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("new-name").value.trim();
    if (name) change(`RENAME ${quoted(name)}${proof()}`);
  });
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("token-name").value.trim();
    $("token-made").textContent = "";
    if (name) change(`TOKEN ADD ${quoted(name)}${proof()}`);
  });
  $("topic-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const url = $("topic-url").value.trim();
    const token = $("topic-token").value.trim();
    if (!url) return;
    $("topic-said").textContent = "Waiting for the topic …";
    const words = token ? `${quoted(url)} ${quoted(token)}` : quoted(url);
    change(`PUSH ADD ${words}`, "topic-said");
  });
  $("end-others").addEventListener("click", () => change("LOGOUT OTHERS"));

  /** lists add the lines of each list. */
  const lists = {
    session: (text) => $("sessions").append(session(text, change)),
    token: (text) => $("tokens").append(token(text, change)),
    certificate: (_, print, here) =>
      $("certificates").append(
        row(here ? `${print}, this one` : print, "Remove", () =>
          change(`CERT DEL ${print}`),
        ),
      ),
    push: (text) => $("pushes").append(device(text, change)),
    file: (text) =>
      $("own-files").append(file(text, (id) => change(`FILE DEL ${id}`))),
  };

  /** heard takes a notice of NickServ; false if it is not for the settings. */
  function heard(text) {
    if (!shown()) return false;
    const [kind, print, here] = text.split(" ");
    const add = lists[kind];
    if (add) {
      if (coming === asked) add(text, print, here);
    } else if (/^new token \S+$/.test(text))
      $("token-made").textContent = clean(text.slice("new token ".length));
    else if (/^\d+ files take /.test(text))
      $("own-files-said").textContent = clean(text);
    else if (!/^\d+ (certificates|devices|tokens)\.$/.test(text))
      $(said).textContent = clean(text);
    if (text.startsWith("The topic is notified"))
      $("topic-url").value = $("topic-token").value = "";
    if (text === "The password is changed.") {
      changed(wanted); // for the next connection
      wanted = $("old-password").value = $("new-password").value = "";
    }
    const [, id] = /^The file ([0-9a-f]+) is deleted\.$/.exec(text) ?? [];
    if (id) removeFile(id);
    $("account-name").textContent = clean(current().settings.account);
    return true;
  }

  /** ponged takes the word of a PONG. */
  function ponged(word) {
    if (word !== `${fence}${asked}` || coming === asked) return;
    coming = asked;
    clear();
  }

  return { heard, ponged };
}
