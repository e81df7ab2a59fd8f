// The buttons with which a message is answered, reacted to and changed, and the dialog for
// reactions.

import { begin, end } from "./edit.js";
import { seek } from "./past.js";
import { allowed, react } from "./react.js";
import { answerable, quote } from "./reply.js";
import { messageOf } from "./timeline.js";
import { $ } from "./view.js";

/** usual are the reactions that need no typing. */
const usual = ["👍", "❤️", "😂", "🎉", "😮", "😢"];

/** answering makes the buttons and the dialog work. It returns change(m). */
export function answering(current, view) {
  const dialog = $("react");
  let room = null;
  let message = null;

  function answer(m) {
    const session = current();
    if (!session) return;
    const { active } = session;
    stop(active);
    active.reply = m;
    session.hooks.changed();
    $("compose").focus();
  }
  /** change has the user change a message in the box. */
  function change(m) {
    const session = current();
    if (!session) return;
    begin(session.active, m);
    view.write(session.active);
    session.hooks.changed();
    $("compose").focus();
    $("compose").setSelectionRange(m.text.length, m.text.length);
  }
  function stop(room) {
    if (!room.editing) return;
    end(room);
    view.write(room);
  }
  /** drop neither answers nor changes a message. */
  function drop() {
    answer(null);
  }
  function open(m) {
    room = current().active;
    message = m;
    $("react-text").textContent = quote(m);
    $("react-other").value = "";
    dialog.showModal();
    $("faces").firstElementChild.focus();
  }
  function choose(text) {
    dialog.close("");
    $("compose").focus();
    const session = current();
    if (session && allowed(text) && answerable(session, room)(message))
      react(session, room, message, text);
  }

  for (const face of usual) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = face;
    button.addEventListener("click", () => choose(face));
    $("faces").append(button);
  }
  $("react-form").addEventListener("submit", (event) => {
    event.preventDefault();
    choose($("react-other").value.trim());
  });
  $("react-not").addEventListener("click", () => choose(""));
  $("reply-not").addEventListener("click", drop);
  $("messages").addEventListener("click", ({ target }) => {
    const session = current();
    const m = messageOf(target.closest(".line"));
    if (!session || !m) return;
    const { active } = session;
    const text = target.closest(".reactions button")?.dataset.text;
    if (text) react(session, active, m, text);
    else if (target.closest(".reply")) answer(m);
    else if (target.closest(".react")) open(m);
    else if (target.closest(".edit")) change(m);
    else if (
      target.closest(".quoted") &&
      !seek(session, active, { id: m.reply })
    )
      $("told").textContent = "This message cannot be loaded now.";
  });
  document.addEventListener("keydown", (event) => {
    const { reply, editing } = current()?.active ?? {};
    if (event.key === "Escape" && !dialog.open && (reply || editing)) drop();
  });
  return change;
}
