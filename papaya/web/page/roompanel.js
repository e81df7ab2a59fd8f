// The panel of a room: its topic, modes and lists for all members to see, and for its operators to
// change. What the server refuses stands in the panel.

import {
  ban,
  flags,
  hasFlag,
  hasList,
  invite,
  kick,
  lists,
  listOf,
  maskOf,
  modesOf,
  operates,
  rights,
  setMode,
  setTopic,
} from "./rules.js";
import { clean } from "./text.js";
import { $ } from "./view.js";

const when = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "short",
});

/** acts are what the buttons do to somebody. Each promises why it was not done, or "". */
const acts = {
  kick,
  ban,
  invite,
  quiet: (s, room, who) => setMode(s, room, "+q", maskOf(s, room, who)),
  ...Object.fromEntries(
    Object.entries(rights).map(([name, [letters]]) => [
      name,
      (s, room, who) => setMode(s, room, letters, who),
    ]),
  ),
};

/** done are the words for what was done, if the server says nothing else. */
const done = {
  kick: "is removed",
  ban: "is banned",
  quiet: "is quiet",
  invite: "is invited",
  voice: "has voice",
  devoice: "has no voice",
  op: "is operator",
  deop: "is no operator",
};

/** roomPanel makes the panel work. It returns ruled(room): the rules of a room have changed. */
export function roomPanel(current) {
  const dialog = $("room");
  let session = null;
  let room = null;
  let letter = "b"; // the list that is shown
  let turn = 0; // only the answers to the newest questions are shown

  const say = (text) => ($("room-said").textContent = clean(text));

  /** act does something, and says what came of it. */
  async function act(doing, outcome) {
    say("");
    const why = await doing;
    say(why || outcome);
    return why === "";
  }

  /** offer shows what the user may do. */
  function offer() {
    const may = operates(session, room);
    $("room-may").textContent = may
      ? "You are an operator of this room."
      : "Only operators of this room may change this.";
    $("room-modes").disabled = $("room-people").disabled = !may;
    for (const control of $("room-lists").querySelectorAll(
      "#mask-form :is(input, button), #list-rows button",
    ))
      control.disabled = !may;
    // a topic may be set by all if the mode t is off: the server decides
    const free = may || !$("mode-t")?.checked;
    for (const control of $("room-topic-form").querySelectorAll(
      "input, button",
    ))
      control.disabled = !free;
    $("person-list").replaceChildren(
      ...[...room.members.values()]
        .filter((m) => !session.isMe(m.nick))
        .map((m) => new Option(m.nick, m.nick)),
    );
  }

  /** showFlags makes a box for each mode that the server has. */
  function showFlags(on) {
    const known = Object.keys(flags).filter((l) => hasFlag(session, l));
    if ($("room-flags").childElementCount !== known.length)
      $("room-flags").replaceChildren(...known.map(flagBox));
    for (const l of known) $(`mode-${l}`).checked = on.has(l);
  }

  function flagBox(l) {
    const label = document.createElement("label");
    label.className = "check";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.id = `mode-${l}`;
    box.addEventListener("change", async () => {
      const sign = box.checked ? "+" : "-";
      if (!(await act(setMode(session, room, sign + l), ""))) ask();
    });
    const words = document.createElement("span");
    words.textContent = `${flags[l]} `;
    const name = document.createElement("span");
    name.className = "hint";
    name.textContent = `+${l}`;
    label.append(box, " ", words, name);
    return label;
  }

  /** showRows shows the masks of a list, with who has set each, and when. */
  function showRows(rows) {
    const none = document.createElement("li");
    none.className = "hint";
    none.textContent = "Nobody is in this list.";
    const had = $("list-rows").contains(document.activeElement);
    $("list-rows").replaceChildren(...(rows.length ? rows.map(rowOf) : [none]));
    if (had) $("mask").focus(); // the button that had the focus is gone
  }

  function rowOf({ mask, by, time }) {
    const li = document.createElement("li");
    const words = document.createElement("span");
    words.className = "mask";
    words.textContent = clean(mask);
    const about = document.createElement("span");
    about.className = "hint";
    const at = time > 0 ? when.format(time) : "";
    about.textContent = clean(
      [by && `by ${by}`, at].filter(Boolean).join(", "),
    );
    words.append(" ", about);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "Remove";
    remove.setAttribute("aria-label", `Remove ${clean(mask)}`);
    remove.addEventListener("click", () => {
      act(setMode(session, room, `-${letter}`, mask), `${mask} is removed.`);
    });
    li.append(words, remove);
    return li;
  }

  /** ask asks the server for what is shown. */
  async function ask() {
    const mine = ++turn;
    const about = room;
    const modes = await modesOf(session, about);
    const list = await listOf(session, about, letter);
    if (mine !== turn || !dialog.open) return;
    const why = modes.why || list.why;
    if (why) say(why);
    showFlags(modes.on);
    for (const [id, text] of [
      ["room-key", modes.key],
      ["room-limit", modes.limit],
      ["room-topic", about.topic],
    ])
      if (document.activeElement !== $(id)) $(id).value = text;
    showRows(list.rows);
    offer();
  }

  function choose(wanted) {
    letter = wanted;
    $("list-what").textContent = lists[letter][1];
    $("list-rows").replaceChildren();
    ask();
  }

  /** showLists makes a choice of the lists that the server has. */
  function showLists() {
    const known = Object.keys(lists).filter((l) => hasList(session, l));
    $("list-names").replaceChildren(
      ...known.map((l) => {
        const label = document.createElement("label");
        const radio = document.createElement("input");
        radio.type = "radio";
        radio.name = "room-list";
        radio.value = l;
        radio.checked = l === letter;
        radio.addEventListener("change", () => choose(l));
        label.append(radio, ` ${lists[l][0]}`);
        return label;
      }),
    );
  }

  function open() {
    session = current();
    room = session?.active;
    if (!room?.isChannel) return;
    letter = "b";
    say(session.state === "ready" ? "" : "Not connected.");
    $("room-title").textContent = clean(room.name);
    $("room-topic").value = room.topic;
    for (const id of ["person", "person-why", "mask"]) $(id).value = "";
    $("room-flags").replaceChildren();
    showFlags(new Set());
    showLists();
    offer();
    dialog.showModal();
    choose(letter);
  }

  /** form has a form do something with what was written. */
  function form(id, run) {
    $(id).addEventListener("submit", (event) => {
      event.preventDefault();
      if (session === current()) run();
      else say("Not connected.");
    });
  }

  form("room-topic-form", () =>
    act(setTopic(session, room, $("room-topic").value), "The topic is set."),
  );
  form("key-form", () => {
    const key = $("room-key").value.trim();
    const words = key ? ["+k", key] : ["-k", "*"];
    act(
      setMode(session, room, ...words),
      key ? "The key is set." : "There is no key.",
    );
  });
  form("limit-form", () => {
    const most = $("room-limit").value.trim();
    if (most && !/^[1-9]\d*$/.test(most)) {
      say("This is no number of members.");
      return;
    }
    act(
      setMode(session, room, ...(most ? ["+l", most] : ["-l"])),
      most ? `At most ${most} may be in the room.` : "There is no limit.",
    );
  });
  $("person-acts").addEventListener("click", ({ target }) => {
    const what = target.closest("button")?.value;
    if (!what || !$("person-form").reportValidity()) return;
    const who = $("person").value.trim();
    const why = $("person-why").value.trim();
    if (session !== current()) say("Not connected.");
    else if (who === "" || /\s/.test(who)) say("A nick has no blank.");
    else act(acts[what](session, room, who, why), `${who} ${done[what]}.`);
  });
  // Enter does nothing to anybody: the buttons say what is meant
  form("person-form", () => say("Choose what to do by a button."));
  form("mask-form", async () => {
    const mask = $("mask").value.trim();
    if (await act(setMode(session, room, `+${letter}`, mask), "It is added."))
      $("mask").value = "";
  });

  $("show-room").addEventListener("click", open);
  dialog.addEventListener("close", () => $("show-room").focus());
  return (changed) => {
    if (dialog.open && session === current() && changed === room) ask();
  };
}
