// The buttons with which a message is answered and reacted to, and the dialog for reactions.

import { seek } from "./past.js";
import { allowed, react } from "./react.js";
import { answerable, quote } from "./reply.js";
import { messageOf } from "./timeline.js";
import { $ } from "./view.js";

/** usual are the reactions that need no typing. */
const usual = ["👍", "❤️", "😂", "🎉", "😮", "😢"];

/** answering makes the buttons and the dialog work. */
export function answering(current) {
  const dialog = $("react");
  let room = null;
  let message = null;

  function answer(m) {
    const session = current();
    if (!session) return;
    session.active.reply = m;
    session.hooks.changed();
    $("compose").focus();
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
  $("reply-not").addEventListener("click", () => answer(null));
  $("messages").addEventListener("click", ({ target }) => {
    const session = current();
    const m = messageOf(target.closest(".line"));
    if (!session || !m) return;
    const { active } = session;
    const text = target.closest(".reactions button")?.dataset.text;
    if (text) react(session, active, m, text);
    else if (target.closest(".reply")) answer(m);
    else if (target.closest(".react")) open(m);
    else if (
      target.closest(".quoted") &&
      !seek(session, active, { id: m.reply })
    )
      $("told").textContent = "This message cannot be loaded now.";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !dialog.open && current()?.active.reply)
      answer(null);
  });
}
