// What users do with their own account, in the settings: its password, its name, its sessions, its
// certificates and its files. The page asks NickServ, as users of other clients do, and reads the
// answers.

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

/** device makes a row of "push 0a1b… to=push.example since=…". */
function device(text, ask) {
  const [, id = "", to = "", since = ""] = text.split(" ");
  const when = new Date(since.replace(/^since=/, ""));
  const day = Number.isNaN(when.getTime()) ? "" : when.toLocaleDateString();
  const here = isThisDevice(id);
  return row(
    `${to.replace(/^to=/, "by ")}, since ${day}${here ? ", this one" : ""}`,
    "End",
    here ? null : () => ask(`PUSH DEL ${id}`),
  );
}

/** file makes a row of "file 0a1b… size=5 made=… type=… a name". A second press removes it. */
function file(text, remove) {
  const [, id = "", bytes = "", made = "", , ...name] = text.split(" ");
  const when = new Date(made.replace(/^made=/, ""));
  const day = Number.isNaN(when.getTime()) ? "" : when.toLocaleDateString();
  const what = size(Number(bytes.replace(/^size=/, "")) || 0);
  const item = row(`${name.join(" ")}, ${what}, ${day}`, "Delete", () => {
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

/**
 * account connects the settings' part with the current session, and returns what hears NickServ.
 */
export function account(current) {
  let wanted = ""; // the password that is being set
  const shown = () => $("settings").open && !$("account").hidden;

  function ask(words) {
    current()?.send("NS", words);
  }

  function list() {
    $("sessions").replaceChildren();
    $("certificates").replaceChildren();
    $("pushes").replaceChildren();
    $("own-files").replaceChildren();
    $("own-files-said").textContent = "";
    ask("SESSIONS");
    ask("CERT LIST");
    if (current()?.has("draft/webpush")) ask("PUSH LIST");
    if (current()?.support.filehost) ask("FILE LIST");
  }

  function change(words) {
    ask(words);
    list();
  }

  const rowOf = (id) =>
    [...$("own-files").children].find((item) => item.dataset.file === id);

  /** addFile adds a file to the list, unless an older answer has it, too. */
  function addFile(text) {
    const item = file(text, (id) => change(`FILE DEL ${id}`));
    if (!rowOf(item.dataset.file)) $("own-files").append(item);
  }

  /** removeFile takes a file from the list that the server has deleted. */
  function removeFile(id) {
    rowOf(id)?.remove();
    fileIsGone(id);
  }

  $("settings-button").addEventListener("click", () => {
    const name = current()?.settings.account ?? "";
    $("account").hidden = name === "";
    $("account-name").textContent = clean(name);
    $("account-said").textContent = "";
    if (name) list();
  });
  $("settings").addEventListener("close", () => {
    wanted = "";
    for (const id of ["old-password", "new-password", "new-name"])
      $(id).value = "";
  });
  $("password-form").addEventListener("submit", (event) => {
    event.preventDefault();
    wanted = $("new-password").value;
    if (wanted)
      ask(`PASSWD ${quoted($("old-password").value)} ${quoted(wanted)}`);
  });
  $("rename-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("new-name").value.trim();
    if (name) change(`RENAME ${quoted(name)}`);
  });
  $("end-others").addEventListener("click", () => change("LOGOUT OTHERS"));

  /** heard takes a notice of NickServ; false if it is not for the settings. */
  return function heard(text) {
    if (!shown()) return false;
    const [kind, print, here] = text.split(" ");
    if (kind === "session") $("sessions").append(session(text, change));
    else if (kind === "certificate")
      $("certificates").append(
        row(here ? `${print}, this one` : print, "Remove", () =>
          change(`CERT DEL ${print}`),
        ),
      );
    else if (kind === "push") $("pushes").append(device(text, change));
    else if (kind === "file") addFile(text);
    else if (/^\d+ files take /.test(text))
      $("own-files-said").textContent = clean(text);
    else if (!/^\d+ (certificates|devices)\.$/.test(text))
      $("account-said").textContent = clean(text);
    if (text === "The password is changed.") {
      current().settings.password = wanted; // for the next connection
      wanted = $("old-password").value = $("new-password").value = "";
    }
    const [, id] = /^The file ([0-9a-f]+) is deleted\.$/.exec(text) ?? [];
    if (id) removeFile(id);
    $("account-name").textContent = clean(current().settings.account);
    return true;
  };
}
