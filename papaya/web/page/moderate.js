// The dialog with which a message is reported to the operators of the server, and for operators the
// list of reports in the settings.

import { parseNotice, report, reportable, title } from "./reports.js";
import { serverBans } from "./serverbans.js";
import { messageOf } from "./timeline.js";
import { clean } from "./text.js";
import { $ } from "./view.js";

const shown = 200; // characters of the message in the dialog

/** reporting makes the buttons of messages and the dialog work. */
function reporting(current) {
  const dialog = $("report");
  let room = null;
  let message = null;

  function open(m) {
    room = current().active;
    message = m;
    const text = clean(m.text).replace(/\s+/g, " ");
    $("report-text").textContent =
      `${clean(m.nick)}: ${text.slice(0, shown)}${text.length > shown ? "…" : ""}`;
    $("report-why").value = "";
    dialog.showModal();
    $("report-why").focus();
  }
  $("messages").addEventListener("click", (event) => {
    const m = messageOf(event.target.closest(".line"));
    if (event.target.closest(".report") && current() && m) open(m);
  });
  $("report-not").addEventListener("click", () => dialog.close(""));
  dialog.addEventListener("close", () => {
    const session = current();
    const why = $("report-why").value.trim();
    const wanted = dialog.returnValue === "report" && why !== "";
    dialog.returnValue = "";
    $("report-text").textContent = "";
    $("compose").focus();
    if (wanted && session && reportable(session)(message))
      report(session, room, message, why);
  });
}

/** button makes a button of a report. */
function button(what, id, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = what;
  made.setAttribute("aria-label", `${what} report ${id}`);
  made.addEventListener("click", act);
  return made;
}

/** targetOf is what a ban of somebody who was reported is for. */
const targetOf = ({ of, account }) => account || `${of}!*@*`;

/**
 * moderation connects the page with the current session. It returns begin(), for another session,
 * heard(text), which takes a notice of OperServ, and operating(is): we are an operator, or not any
 * more.
 */
export function moderation(current) {
  reporting(current);
  const bans = serverBans(current);
  let operates = false; // we are an operator of the server: OperServ has told us something, say
  let waiting = 0; // open reports

  const send = (...params) => current()?.send("REPORTS", ...params);
  const row = (id) =>
    [...$("report-list").children].find((li) => li.dataset.report === id);

  /** count shows how many reports are open, in the settings and at their button. */
  function count(n) {
    waiting = Math.max(0, n);
    const button = $("settings-button");
    $("reports-open").textContent = String(waiting);
    if (waiting > 0) button.dataset.reports = String(waiting);
    else delete button.dataset.reports;
    const more = waiting > 0 ? `, ${waiting} open reports` : "";
    button.setAttribute("aria-label", `Settings${more}`);
  }

  function begin() {
    operates = false;
    count(0);
    $("report-list").replaceChildren();
  }

  function list() {
    $("report-list").replaceChildren();
    send("LIST", ...($("reports-all").checked ? ["ALL"] : []));
  }

  /** add shows a report as a row of the list. */
  function add(r) {
    const li = document.createElement("li");
    li.dataset.report = r.id;
    li.report = r;
    const words = document.createElement("span");
    words.textContent = clean(title(r));
    li.append(
      words,
      button("Show", r.id, () => send("SHOW", r.id)),
    );
    if (r.state === "closed") li.classList.add("closed");
    $("report-list").append(li);
  }

  /** details begins to show what is in a report: its message, and what closes it. */
  function details(li, r) {
    li.querySelector(".details")?.remove();
    const all = document.createElement("div");
    all.className = "details";
    const when = new Date(r.time);
    const head = document.createElement("p");
    head.className = "hint";
    const account = r.account ? `account ${r.account}` : "no account";
    head.textContent = clean(
      `${Number.isNaN(when.getTime()) ? "" : when.toLocaleString()}, ${account}`,
    );
    all.append(head);
    if (r.state === "open") {
      const remark = document.createElement("input");
      remark.maxLength = 250;
      remark.placeholder = "A remark";
      remark.setAttribute("aria-label", `A remark on report ${r.id}`);
      const close = button("Close", r.id, () =>
        send("CLOSE", r.id, ...(remark.value ? [remark.value] : [])),
      );
      const ban = button("Ban …", r.id, () =>
        bans.begin(targetOf(r), li.report.why),
      );
      ban.setAttribute("aria-label", `Ban ${clean(r.of)}, of report ${r.id}`);
      all.append(remark, close, ban);
    }
    li.append(all);
  }

  /** quote adds a line of the message, or goes on in the last one. */
  function quote(li, { kind, rest }) {
    const all = li.querySelector(".details");
    if (!all) return;
    let text = all.querySelector(".quote");
    if (!text) {
      text = document.createElement("p");
      text.className = "quote";
      all.firstChild.after(text);
      text.textContent = clean(rest);
      return;
    }
    text.textContent += (kind === "text" ? "\n" : "") + clean(rest);
  }

  function closed(li, { rest }) {
    const [by = "", , ...remark] = rest.split(" ");
    li.classList.add("closed");
    const all = li.querySelector(".details");
    all?.querySelectorAll("input, button").forEach((n) => n.remove());
    const note = document.createElement("p");
    note.className = "hint outcome";
    const said = remark.length ? `: ${remark.join(" ")}` : "";
    note.textContent = clean(`Closed by ${by.replace(/^by=/, "")}${said}`);
    li.querySelector(".outcome")?.remove();
    (all ?? li).append(note);
  }

  /** operating shows operators what is theirs. */
  function operating(is) {
    operates = is;
    if (!$("settings").open) return;
    $("reports").hidden = $("server-bans").hidden = !operates;
    if (!operates) return;
    list();
    bans.list();
  }
  $("settings-button").addEventListener("click", () => operating(operates));
  $("reports-all").addEventListener("change", list);

  /** heard takes a notice of OperServ; false if it is nothing that the page shows. */
  function heard(text) {
    const said = parseNotice(text);
    const session = current();
    if (!said || !session) return false;
    operates = true;
    const open = $("settings").open;
    const li = row(said.id);
    switch (said.kind) {
      case "count":
        count(said.count);
        return true;
      case "new":
        count(waiting + 1);
        session.note(
          session.active,
          `A report has come: ${title(said)}. The settings list it.`,
          "notice",
        );
        if (open) list();
        return true;
    }
    if (said.kind === "closed" && said.fresh) count(waiting - 1);
    if (!open) return false; // asked for by a command, or told to all operators
    if (said.kind === "report") {
      if (li) details(li, said);
      else add(said);
    } else if (li && said.kind === "reason") {
      const all = { ...li.report, why: said.rest };
      li.firstChild.textContent = clean(title(all));
    } else if (li && (said.kind === "text" || said.kind === "more"))
      quote(li, said);
    else if (li && said.kind === "closed") closed(li, said);
    return true;
  }
  return { begin, heard, operating };
}
