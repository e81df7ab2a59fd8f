// The dialog that asks before a room is left: a room that has gone may need an invitation to come
// back.

import { clean } from "./text.js";
import { $ } from "./view.js";

/** leaving makes the dialog work. It returns a function that leaves a room or a conversation. */
export function leaving(current) {
  const dialog = $("leave");
  let room = null;
  $("leave-not").addEventListener("click", () => dialog.close(""));
  dialog.addEventListener("close", () => {
    const wanted = dialog.returnValue === "leave";
    dialog.returnValue = "";
    const session = current();
    $("compose").focus();
    if (wanted && session && session.find(room.name) === room)
      session.close(room);
  });
  return (wanted) => {
    if (!wanted.isChannel || !wanted.joined) {
      current().close(wanted); // nobody hears of it, and it can be had again
      return;
    }
    room = wanted;
    $("leave-title").textContent = `Leave ${clean(room.name)}?`;
    dialog.showModal();
  };
}
