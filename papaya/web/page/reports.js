// Reports to the operators of the server: which messages can be reported, and what operators are
// told. The server tells it by notices of OperServ, which are read here.

import { spoken } from "./redact.js";

/** reportable returns a test of messages: whether they can be reported. */
export function reportable(s) {
  if (!s.support.report || s.state !== "ready") return () => false;
  return (m) => Boolean(m.id) && spoken(m) && !m.own;
}

/** report tells the operators of a message in a room or a conversation. */
export function report(s, room, m, why) {
  s.send("REPORT", room.name, m.id, why);
}

/** reportUser tells them of somebody. */
export function reportUser(s, nick, why) {
  s.send("REPORT", nick, why);
}

const words =
  /^(new )?report (\d+) (open|closed) time=(\S*) by=(\S*) of=(\S*) account=(\S*) in=(\S*) ?(.*)$/;
const others =
  /^(now )?(reason|message|text|more|closed|end of report) (\d+) ?(.*)$/;

/**
 * parseNotice reads a notice of OperServ. kind is "count", "new", "report", "reason", "message",
 * "text", "more", "closed" or "end"; fresh says that it has just been closed. null stands for any
 * other notice.
 */
export function parseNotice(text) {
  const count = /^(\d+) reports are open/.exec(text);
  if (count) return { kind: "count", count: Number(count[1]) };
  const one = words.exec(text);
  if (one) {
    const [, fresh, id, state, time, by, of, account, where, why] = one;
    const kind = fresh ? "new" : "report";
    return { kind, id, state, time, by, of, account, where, why };
  }
  const part = others.exec(text);
  if (!part) return null;
  const [, fresh, kind, id, rest] = part;
  const short = kind === "end of report" ? "end" : kind;
  return { kind: short, fresh: Boolean(fresh), id, rest };
}

/** title is a report in one line. */
export function title({ of, where, by, why }) {
  const place = { "-": "", "*": " in private" }[where] ?? ` in ${where}`;
  const from = by.startsWith("~") ? `the guest ${by.slice(1)}` : by;
  return `${of}${place}, reported by ${from}: ${why}`;
}
