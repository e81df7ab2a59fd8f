// The dialog that deletes a message. Its button is at each message that may be deleted.

import { askToDelete, deletable } from "./redact.js";
import { messageOf } from "./timeline.js";
import { clean } from "./text.js";
import { $ } from "./view.js";

const shown = 200; // characters of the message in the dialog

/** deletion makes the buttons and the dialog work. */
export function deletion(current) {
  const dialog = $("delete");
  let room = null;
  let message = null;

  function open(m) {
    room = current().active;
    message = m;
    const text = clean(m.text).replace(/\s+/g, " ");
    $("delete-text").textContent =
      `${clean(m.nick)}: ${text.slice(0, shown)}${text.length > shown ? "…" : ""}`;
    $("delete-why").value = "";
    dialog.showModal();
    $("delete-why").focus();
  }
  // without a mouse, the button of a message is shown when the message is tapped
  const pick = (line) => {
    for (const other of $("messages").querySelectorAll("[data-picked]"))
      if (other !== line) delete other.dataset.picked;
    if ("picked" in line.dataset) delete line.dataset.picked;
    else line.dataset.picked = "";
  };
  $("messages").addEventListener("click", (event) => {
    const line = event.target.closest(".line");
    const m = messageOf(line);
    if (event.target.closest(".delete") && current() && m) open(m);
    else if (line && !event.target.closest("a, button")) pick(line);
  });
  $("delete-not").addEventListener("click", () => dialog.close(""));
  dialog.addEventListener("close", () => {
    const session = current();
    const wanted = dialog.returnValue === "delete";
    dialog.returnValue = "";
    $("delete-text").textContent = "";
    $("compose").focus();
    if (wanted && session && deletable(session, room)(message))
      askToDelete(session, room, message, $("delete-why").value.trim());
  });
}
