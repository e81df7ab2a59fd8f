// Sending files: by a button, by dropping or by pasting them. Each is uploaded at once, and its
// link is put behind what is written for the room in which that began. The user sends it as any
// message.

import { size } from "./files.js";
import { basic } from "./stay.js";
import { clean } from "./text.js";
import { $ } from "./view.js";

/** disposition tells a name, of any characters, in a header (RFC 8187). */
function disposition(name) {
  const hex = (c) => `%${c.charCodeAt(0).toString(16)}`;
  const whole = (name || "file").toWellFormed?.() ?? "file";
  const quoted = encodeURIComponent(whole).replace(/['()*]/g, hex);
  return `attachment; filename*=UTF-8''${quoted}`;
}

/**
 * send uploads a file, and promises its link. told gets the part that was sent, from 0 to 1, and
 * started a function that ends the upload. Errors are for the user.
 */
function send(file, session, told, started) {
  const { account, password } = session.settings;
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    const fail = (why) => failed(new Error(why));
    request.open("POST", "upload");
    // a device that stays signed in sends its cookie
    if (password)
      request.setRequestHeader("Authorization", basic(account, password));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Content-Disposition", disposition(file.name));
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) told(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // something on the way has answered
      }
      if (request.status === 201 && answer.url) done(answer.url);
      else fail(answer.error ?? `the server has answered ${request.status}`);
    });
    request.addEventListener("error", () => fail("the connection was lost"));
    request.addEventListener("abort", () => fail(""));
    started(() => request.abort());
    request.send(file);
  });
}

/** limitOf asks the server for the size of the largest file; 0 if it does not say. */
async function limitOf() {
  try {
    const answer = await fetch("upload", { method: "OPTIONS" });
    const said = /max-size=(\d+)/.exec(
      answer.headers.get("Upload-Limit") ?? "",
    );
    return Number(said?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** put puts a link behind what is written for a room. */
function put(session, room, link) {
  let before = room.draft ?? "";
  if (/https?:\S+$/.test(before)) before += "\n";
  else if (/\S$/.test(before)) before += " ";
  room.draft = before + link;
  if (room !== session.active) return;
  const box = $("compose");
  box.value = room.draft;
  box.dispatchEvent(new Event("input"));
  box.focus();
}

/** sender makes the ways to send files work. */
export function sender(current) {
  const input = $("file-input");
  const talk = document.querySelector(".talk");
  let turn = Promise.resolve(); // files are sent one after the other

  const tell = (words) => {
    $("told").textContent = words;
  };

  /** refusal is why nothing can be sent now, or ''. */
  function refusal(session) {
    if (!session || session.state !== "ready") return "Not connected.";
    if (!session.support.filehost) return "This server takes no files.";
    if (!session.settings.password && !session.settings.stays)
      return "Sign in to an account to send files.";
    if (session.active === session.status)
      return "Go into a room to send files.";
    return "";
  }

  function offer(files) {
    const session = current();
    const list = [...files];
    if (list.length === 0) return;
    const why = refusal(session);
    tell(why);
    if (why) return;
    const room = session.active;
    for (const file of list) {
      const row = makeRow(file);
      $("uploads").append(row.node);
      turn = turn.then(() => one(session, room, file, row));
    }
  }

  async function one(session, room, file, row) {
    const name = clean(file.name || "The file");
    try {
      const most = await limitOf();
      if (row.stopped) return;
      if (most && file.size > most)
        throw new Error(
          `it has ${size(file.size)}, and the limit is ${size(most)}`,
        );
      const link = await send(file, session, row.told, row.started);
      if (session === current()) put(session, room, link);
    } catch (error) {
      if (!row.stopped) tell(`${name} was not sent: ${error.message}.`);
    } finally {
      row.node.remove();
    }
  }

  $("send-file").addEventListener("click", () => {
    const why = refusal(current());
    tell(why);
    if (!why) input.click();
  });
  input.addEventListener("change", () => {
    offer(input.files);
    input.value = "";
  });
  $("compose").addEventListener("paste", (event) => {
    const { files, types } = event.clipboardData;
    // a text that is copied with its picture, as some programs do, is a text
    if (files.length === 0 || types.includes("text/plain")) return;
    event.preventDefault();
    offer(files);
  });
  const carries = (event) =>
    [...(event.dataTransfer?.types ?? [])].includes("Files");
  // a file that misses its place must not replace the page
  for (const kind of ["dragover", "drop"])
    document.addEventListener(kind, (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      if (kind === "dragover")
        event.dataTransfer.dropEffect = event.target.closest?.(".talk")
          ? "copy"
          : "none";
    });
  talk.addEventListener("dragover", (event) => {
    if (carries(event)) talk.classList.add("dropping");
  });
  talk.addEventListener("dragleave", (event) => {
    if (!talk.contains(event.relatedTarget)) talk.classList.remove("dropping");
  });
  talk.addEventListener("drop", (event) => {
    talk.classList.remove("dropping");
    if (carries(event)) offer(event.dataTransfer.files);
  });
}

/** makeRow makes the row of an upload: name, progress, and a button that ends it. */
function makeRow(file) {
  const node = document.createElement("li");
  const name = document.createElement("span");
  name.className = "file-name";
  name.textContent = clean(file.name || "file");
  const bar = document.createElement("progress");
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", `Sending ${name.textContent}`);
  const stop = document.createElement("button");
  stop.type = "button";
  stop.textContent = "×";
  stop.setAttribute("aria-label", `Do not send ${name.textContent}`);
  node.append(name, bar, stop);
  const row = {
    node,
    stopped: false,
    told: (part) => (bar.value = part),
    started: (end) => (row.end = end),
    end: () => {},
  };
  stop.addEventListener("click", () => {
    row.stopped = true;
    node.remove();
    row.end();
    $("compose").focus();
  });
  return row;
}
