// The rows of the list of messages: each message that is shown, and the lines between them.

import { spoken } from "./redact.js";

const together = 5 * 60_000; // ms: messages of one user within this time are under one nick
const lineHeight = 24; // px, about that of the style sheet
const lineLength = 90; // characters of a line on a wide screen: a guess
const folded = 11; // lines that a long message has before it is opened
const ruleHeight = 44; // px of the line of a day

/** isRule says whether a row is a line between messages: the day, or where the new ones begin. */
export const isRule = (row) => row.kind === "day" || row.kind === "new";

/**
 * rowsOf are the rows of messages. Each has a height in px: the one that it had when it was last
 * drawn, or a guess. quiet leaves out who comes and goes; messages after unreadFrom are new.
 */
export function rowsOf(messages, { quiet, unreadFrom }) {
  const rows = [];
  const days = new Map(); // day -> how often it was there
  let [from, until] = [0, 0]; // the day of the row before
  let marked = unreadFrom <= 0;
  for (const m of messages) {
    if ((quiet && m.kind === "event") || m.kind === "unseen") continue;
    if (!(m.time >= from && m.time < until)) {
      [from, until] = dayOf(m.time);
      // a day comes twice if the server's clock was set back
      const times = (days.get(from) ?? 0) + 1;
      days.set(from, times);
      const key = `day ${from} ${times}`;
      rows.push({ kind: "day", key, time: from, height: ruleHeight });
    }
    if (!marked && m.time > unreadFrom && !m.own && spoken(m)) {
      marked = true;
      rows.push({ kind: "new", key: "new", height: ruleHeight });
    }
    m.height ??= guess(m);
    rows.push(m);
  }
  return rows;
}

/** isAlone says whether a message has a nick and face of its own: it is no part of those before. */
export const isAlone = (m, before) =>
  m.kind !== "message" ||
  before?.kind !== "message" ||
  before.nick !== m.nick ||
  m.time - before.time > together;

/** dayOf is when the day of a time begins and ends, where the user is. */
function dayOf(time) {
  const date = new Date(time);
  const [year, month, day] = [
    date.getFullYear(),
    date.getMonth(),
    date.getDate(),
  ];
  return [
    new Date(year, month, day).getTime(),
    new Date(year, month, day + 1).getTime(),
  ];
}

/** guess is about the height of a message that was never drawn. */
function guess({ text }) {
  let lines = 0;
  for (const line of text.slice(0, folded * lineLength).split("\n"))
    lines += 1 + Math.floor(line.length / lineLength);
  return lineHeight * Math.min(lines, folded) + 4;
}
