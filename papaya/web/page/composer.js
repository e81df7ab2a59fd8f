// The input of the user: messages, completion, moves between rooms, panes.

import { changed, commands, obey } from "./commands.js";
import { complete, put } from "./complete.js";
import { editable, end } from "./edit.js";
import { leaving } from "./leave.js";
import { settings } from "./settings.js";
import { typed } from "./typing.js";
import { $ } from "./view.js";

const remembered = 100; // typed lines that are kept for the arrow keys

/** composer makes the box work. change(m) has the user change a message in it. */
export function composer(current, view, signedOut, change) {
  const box = $("compose");
  const written = [];
  let back = -1; // which of the kept lines is shown, from the newest; -1: none
  let offers = null; // the current completion: {start, words, at}

  let shift = false; // Shift is down: Enter makes a line break
  let entered = false; // Enter is down, and has sent what was written

  const grow = () => {
    box.rows = Math.min(6, box.value.split("\n").length);
    const session = current();
    if (session) session.active.draft = box.value;
  };
  const fill = (text, cursor = text.length) => {
    box.value = text;
    box.setSelectionRange(cursor, cursor);
    grow();
  };

  function send() {
    const session = current();
    const text = box.value.trimEnd();
    if (!session || !text.trim()) return;
    const { active: room } = session;
    const told = room.editing
      ? changed(session, room, text)
      : obey(session, room, text);
    $("told").textContent = told;
    if (told) return; // it has failed: the text stays
    if (room.editing) end(room);
    else room.draft = "";
    room.typedAt = 0; // the message says that we are not writing any more
    if (room === session.active) fill(room.draft ?? "");
    session.hooks.changed();
    written.unshift(text);
    written.length = Math.min(written.length, remembered);
    back = -1;
    view.newest();
  }

  /** edits has the user change the last message that may be changed; false if there is none. */
  function edits(event) {
    const session = current();
    if (!session || box.value) return false;
    const may = editable(session, session.active);
    const m = session.active.messages.findLast((x) => may(x));
    if (!m) return false;
    event.preventDefault();
    change(m);
    return true;
  }

  function tab(event) {
    const session = current();
    if (!session) return;
    if (!offers) {
      const nicks = [...session.active.members.values()]
        .map((m) => m.nick)
        .filter((n) => !session.isMe(n))
        .sort();
      if (!session.active.isChannel && session.active !== session.status)
        nicks.push(session.active.name);
      const rooms = [...session.rooms.values()]
        .filter((r) => r.isChannel)
        .map((r) => r.name);
      const found = complete(box.value, box.selectionStart, {
        nicks,
        rooms,
        commands: Object.keys(commands),
      });
      if (!found) return; // nothing to complete: the key goes on to the next control
      offers = { ...found, at: -1, cursor: box.selectionStart };
    }
    event.preventDefault();
    const { words, start } = offers;
    offers.at =
      (offers.at + (event.shiftKey ? words.length - 1 : 1)) % words.length;
    const { text, cursor } = put(
      box.value,
      offers.cursor,
      start,
      words[offers.at],
    );
    const keep = offers;
    fill(text, cursor);
    offers = { ...keep, cursor };
    $("told").textContent =
      words.length > 1
        ? words
            .map((w) => w.replace(/:? $/, ""))
            .slice(0, 12)
            .join("  ")
        : "";
  }

  function history(event, step) {
    if (current()?.active.editing) return;
    const whole = !box.value.includes("\n");
    if (!whole || back + step < -1 || back + step >= written.length) return;
    event.preventDefault();
    back += step;
    fill(back < 0 ? "" : written[back]);
  }

  box.addEventListener("keydown", (event) => {
    shift = event.shiftKey;
    if (event.isComposing) return;
    if (event.key !== "Tab" && event.key !== "Shift") offers = null;
    switch (event.key) {
      case "Enter":
        if (event.shiftKey) return;
        event.preventDefault();
        entered = true;
        send();
        break;
      case "Tab":
        tab(event);
        break;
      case "ArrowUp":
        if (event.altKey) return;
        if (event.ctrlKey || !edits(event)) history(event, 1);
        break;
      case "ArrowDown":
        if (!event.altKey) history(event, -1);
        break;
      case "PageUp":
      case "PageDown":
        event.preventDefault();
        $("scroll").scrollBy(
          0,
          (event.key === "PageUp" ? -0.9 : 0.9) * $("scroll").clientHeight,
        );
    }
  });
  // The keyboards of some phones report Enter only in this way.
  box.addEventListener("beforeinput", (event) => {
    if (event.inputType !== "insertLineBreak" || shift) return;
    event.preventDefault();
    if (!entered) send(); // else a draft that is there again would be sent
  });
  box.addEventListener("keyup", ({ key }) => {
    if (key === "Enter") entered = false;
  });
  box.addEventListener("input", (event) => {
    offers = null;
    grow();
    const session = current();
    // not for a draft that is shown again, which no user has typed
    if (session?.active.editing) return;
    if (session && event.isTrusted && settings.typing)
      typed(session, session.active, box.value);
  });
  $("compose-form").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
    box.focus();
  });

  const panes = { rooms: $("show-rooms"), members: $("show-members") };
  const shut = () => {
    for (const [name, button] of Object.entries(panes)) {
      $("chat").classList.remove(`open-${name}`);
      button.setAttribute("aria-expanded", "false");
    }
    $("shade").hidden = true;
  };
  for (const [name, button] of Object.entries(panes)) {
    button.addEventListener("click", () => {
      const open = !$("chat").classList.contains(`open-${name}`);
      shut();
      $("chat").classList.toggle(`open-${name}`, open);
      button.setAttribute("aria-expanded", String(open));
      $("shade").hidden = !open;
      if (open)
        $(`${name}-pane`).querySelector("button:not([hidden]), input")?.focus();
    });
  }
  $("shade").addEventListener("click", shut);

  const leave = leaving(current);
  const go = (room) => {
    current().look(room);
    shut();
    if (matchMedia("(hover: hover)").matches) box.focus();
  };
  const roomOf = (key) =>
    key === "*" ? current().status : current().rooms.get(key);
  $("rooms").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const room = button && roomOf(button.parentElement.dataset.key);
    if (!room) return;
    if (button.classList.contains("shut")) leave(room);
    else go(room);
  });
  $("members").addEventListener("click", (event) => {
    const key = event.target.closest("li")?.dataset.key;
    const session = current();
    const member = session?.active.members.get(key);
    if (!member || session.isMe(member.nick)) return;
    commands.query[2](session, session.active, [member.nick]);
    shut();
  });
  $("join-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("join-name").value.trim();
    if (!name || !current()) return;
    commands.join[2](current(), current().active, name.split(/ +/));
    $("join-name").value = "";
    shut();
  });
  $("away").addEventListener("click", () => {
    const session = current();
    if (session)
      commands[session.away ? "back" : "away"][2](session, session.active, []);
  });
  $("sign-out").addEventListener("click", () => {
    $("settings").close();
    const session = current();
    if (session?.state === "ready")
      commands.quit[2](session, session.active, []);
    else signedOut();
  });

  document.addEventListener("keydown", (event) => {
    const session = current();
    if (!session) return;
    if (event.key === "Escape") {
      if (view.room?.past) view.newest();
      const name = ["rooms", "members"].find((n) =>
        $("chat").classList.contains(`open-${n}`),
      );
      shut();
      if (name) panes[name].focus();
    } else if (
      event.altKey &&
      (event.key === "ArrowUp" || event.key === "ArrowDown")
    ) {
      event.preventDefault();
      const keys = [...$("rooms").children].map((li) => li.dataset.key);
      const at = keys.findIndex((k) => roomOf(k) === session.active);
      go(
        roomOf(
          keys[
            (at + (event.key === "ArrowUp" ? keys.length - 1 : 1)) % keys.length
          ],
        ),
      );
    }
  });
}
