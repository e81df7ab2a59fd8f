// The keys of the messages, of which one at a time is a stop of Tab, and those that hold everywhere
// in the chat.

import { isRule } from "./rows.js";
import { messageOf } from "./timeline.js";
import { $ } from "./view.js";

/** controls are what a message has to press. */
const controls = "a[href], button:enabled";

/** buttons are what the keys of a message press. */
const buttons = {
  r: ".tools .reply",
  "+": ".tools .react",
  e: ".tools .edit",
  Delete: ".tools .delete",
  Backspace: ".tools .delete",
  q: ".quoted",
};

/** keys makes the keys work. find opens the search. It returns show(), which lists them. */
export function keys(current, view, find) {
  const list = $("messages");
  const { list: scroller } = view;

  // what a message has to press is reached by Enter: Tab would stop hundreds of times
  const skip = () => {
    for (const n of list.querySelectorAll(":is(a, button):not([tabindex])"))
      n.tabIndex = -1;
  };
  new MutationObserver(skip).observe(list, { childList: true, subtree: true });

  /** move gives the focus to the message so many px below another one, at least to the next. */
  function move(from, px) {
    const { rows, heights } = scroller;
    const step = Math.sign(px);
    let at = from;
    let to = from;
    let way = 0;
    while (rows[at + step] && (to === from || way < Math.abs(px))) {
      at += step;
      way += heights[at];
      if (!isRule(rows[at])) to = at;
    }
    if (to !== from) scroller.focus(to);
  }

  /** onMessage is a key on a message; it says whether it is one of ours. */
  function onMessage(key, li) {
    const { rows, screen } = scroller;
    const at = rows.indexOf(messageOf(li));
    switch (key) {
      case "ArrowUp":
        move(at, -1);
        return true;
      case "ArrowDown":
        move(at, 1);
        return true;
      case "PageUp":
        move(at, -0.9 * screen);
        return true;
      case "PageDown":
        move(at, 0.9 * screen);
        return true;
      case "Home":
        scroller.focus(rows.findIndex((row) => !isRule(row)));
        return true;
      case "End":
        scroller.focus(rows.length - 1); // the last row is a message
        return true;
      case "Enter":
        li.dataset.picked = ""; // its buttons are to be seen before they get the focus
        li.querySelector(controls)?.focus();
        return true;
      case "Escape":
        scroller.stop = null;
        scroller.rove();
        $("compose").focus();
        return true;
    }
    const css = buttons[key.length === 1 ? key.toLowerCase() : key];
    const button = css && li.querySelector(css);
    button?.click();
    return Boolean(button);
  }

  /** inMessage is a key on what a message has to press. */
  function inMessage(key, li, control) {
    const all = [...li.querySelectorAll(controls)];
    const at = all.indexOf(control);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (key === "Escape") li.focus();
    else if (step[key])
      all[(at + step[key] + all.length) % all.length]?.focus();
    else return false;
    return true;
  }

  list.addEventListener("focusin", ({ target }) => {
    const m = messageOf(target.closest(".line"));
    if (!m) return;
    scroller.stop = m;
    scroller.rove();
  });
  list.addEventListener("focusout", ({ target, relatedTarget }) => {
    const li = target.closest(".line");
    if (li && !li.contains(relatedTarget)) delete li.dataset.picked;
  });
  list.addEventListener("keydown", (event) => {
    const li = event.target.closest(".line");
    if (!li || event.ctrlKey || event.altKey || event.metaKey) return;
    const done =
      li === event.target
        ? onMessage(event.key, li)
        : inMessage(event.key, li, event.target);
    if (!done) return;
    event.preventDefault();
    event.stopPropagation(); // Escape does other things elsewhere
  });
  // a message that had the focus was scrolled away
  $("scroll").addEventListener("keydown", (event) => {
    if (event.target !== event.currentTarget) return;
    const [mark] = scroller.marks();
    if (event.key === "Escape") $("compose").focus();
    else if (/^Arrow(Up|Down)$/.test(event.key) && mark)
      scroller.focus(mark.at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const show = () => $("keys").showModal();
  document.addEventListener("keydown", (event) => {
    if (!current() || document.querySelector("dialog[open]")) return;
    const { key, target } = event;
    const held = event.ctrlKey || event.metaKey;
    const writes = target.closest?.("input, textarea");
    if (held && !event.altKey && key === "k") find.open();
    else if ((held && key === "/") || (!held && !writes && key === "?")) show();
    else return;
    event.preventDefault();
  });
  return show;
}
