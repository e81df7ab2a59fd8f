// Commands whose answers are shown where the user has acted, and not in the room. The server gives
// the label of a command to all lines of its answer (labeled-response of IRCv3).

import { format } from "./irc.js";

const mostAsked = 50; // commands that are not answered yet
const mostLines = 4096; // of one answer

/** offline is the answer to what was not sent. */
const offline = { command: "FAIL", params: ["Not connected."] };

/**
 * replies are the lines of an answer that are shown where the user has acted only. All others say
 * what has happened, such as who has left since it is banned, and count as any.
 */
const replies =
  /^([45]\d\d|69\d|302|324|329|341|34[6-9]|36[78]|72[89]|FAIL|WARN|NOTE|NOTICE|ACK)$/;

/** refusals are the numerics of them that refuse something. */
const refusals = /^([45]\d\d|69\d|FAIL)$/;

/**
 * ask sends a command and promises the lines of its answer: null if the connection is lost before,
 * and none if this server has no labels. What it refuses is then shown as any refusal.
 */
export function ask(s, command, ...params) {
  if (s.state !== "ready") return Promise.resolve([offline]);
  if (!s.has("labeled-response")) {
    s.send(command, ...params);
    return Promise.resolve([]);
  }
  const label = `a${++s.labels}`;
  s.hooks.send(format({ label }, command, ...params));
  return new Promise((done) => {
    s.asked.set(label, { lines: [], done });
    if (s.asked.size > mostAsked) end(s, s.asked.keys().next().value);
  });
}

/** end gives what was asked with a label its answer. */
function end(s, label) {
  const asked = s.asked.get(label);
  s.asked.delete(label);
  asked.done(asked.lines);
}

/** unanswered ends all that was asked when the connection is lost. */
export function unanswered(s) {
  for (const { done } of s.asked.values()) done(null);
  s.asked.clear();
}

/** answered says whether a line is the answer to a command, and needs no other place. */
export function answered(s, line) {
  if (s.asked.size === 0) return false;
  const { command, params, tags } = line;
  if (command === "BATCH") {
    const ref = params[0] ?? "";
    // a batch that ends has no label of its own
    const label = s.batches.get(ref.slice(1))?.tags.get("label");
    if (ref.startsWith("-") && s.asked.has(label)) end(s, label);
    return false;
  }
  const own = tags.get("label");
  const label = own ?? s.batches.get(tags.get("batch"))?.tags.get("label");
  const asked = s.asked.get(label);
  if (!asked) return false;
  if (asked.lines.length < mostLines) asked.lines.push(line);
  if (own !== undefined) end(s, label); // the answer has this line only
  return replies.test(command);
}

/** refusal is why a command was refused, for people, or "". */
export function refusal(lines) {
  if (lines === null)
    return "The connection was lost: it is not known whether this was done.";
  const no = lines.find(({ command }) => refusals.test(command));
  if (!no) return "";
  const { command, params } = no;
  const why = params.at(-1) ?? "";
  if (command === "FAIL") return why;
  // between our nick and the reason stands what the reason is about
  const about = params.slice(1, -1).join(" ");
  return about ? `${about}: ${why}` : why;
}
