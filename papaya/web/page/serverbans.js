// Bans of the whole server, for its operators in the settings: the list, a new one with its reason
// and end, and the end of one. What the server refuses stands beside the form.

import { ask, refusal } from "./ask.js";
import { clean } from "./text.js";
import { $ } from "./view.js";

const form =
  /^ban (account|address|mask) (\S+) by=(\S*) set=(\S*) until=(\S*) ?(.*)$/;

/** parseBan reads a line of UBAN LIST; null if it is another one. */
export function parseBan(text) {
  const found = form.exec(text);
  if (!found) return null;
  const [, kind, target, by, set, until, why] = found;
  return { kind, target, by, set, until, why };
}

/** title is a ban in one line. */
function title({ kind, target, by, until, why }) {
  const end = new Date(until);
  const ends = Number.isNaN(end.getTime())
    ? "for ever"
    : `until ${end.toLocaleString()}`;
  return clean(
    `${kind} ${target}, ${ends}, by ${by}${why === "" ? "" : `: ${why}`}`,
  );
}

/** told is the last thing that the server says in an answer. */
const told = (lines) =>
  lines?.findLast(({ command }) => command === "NOTICE")?.params.at(-1) ?? "";

/** serverBans makes the form and the list work. It returns list() and begin(target, why). */
export function serverBans(current) {
  const say = (text) => ($("uban-said").textContent = clean(text));

  async function list() {
    const session = current();
    if (!session) return;
    const lines = await ask(session, "UBAN", "LIST");
    if (session !== current()) return;
    const bans = (lines ?? [])
      .map(({ params }) => parseBan(params.at(-1) ?? ""))
      .filter(Boolean);
    const rows = bans.map(row);
    if (rows.length === 0) {
      const none = document.createElement("li");
      none.textContent = refusal(lines) || "Nobody is banned.";
      rows.push(none);
    }
    const had = $("uban-list").contains(document.activeElement);
    $("uban-list").replaceChildren(...rows);
    if (had) $("uban-target").focus(); // the button that had the focus is gone
  }

  function row(ban) {
    const li = document.createElement("li");
    const words = document.createElement("span");
    words.textContent = title(ban);
    const lift = document.createElement("button");
    lift.type = "button";
    lift.textContent = "End";
    lift.setAttribute("aria-label", `End the ban of ${clean(ban.target)}`);
    lift.addEventListener("click", () => change("DEL", ban.target));
    li.append(words, lift);
    return li;
  }

  /** change does something, and says what came of it. */
  async function change(...words) {
    const session = current();
    say("");
    if (!session || session.state !== "ready") {
      say("Not connected.");
      return false;
    }
    const lines = await ask(session, "UBAN", ...words);
    const why = refusal(lines);
    say(why || told(lines));
    list();
    return why === "" && !told(lines).startsWith("Not done");
  }

  $("uban-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const [target, length, why] = ["target", "length", "why"].map((name) =>
      $(`uban-${name}`).value.trim(),
    );
    if (/\s/.test(target)) {
      say("Only one can be banned at once: this has a blank.");
      return;
    }
    // with DURATION a reason may begin with a time; one word, since an address may begin with ":"
    const words = [target, "DURATION", length, why].filter(Boolean);
    if (await change("ADD", words.join(" ")))
      $("uban-target").value = $("uban-why").value = "";
  });

  /** begin has the operator ban somebody. */
  function begin(target, why) {
    $("uban-target").value = target;
    $("uban-why").value = why;
    say("");
    $("uban-target").focus();
  }
  return { list, begin };
}
