// Messages of several lines (draft/multiline of IRCv3) are batches, in which each line of the text
// is a PRIVMSG or NOTICE. A tag joins a line to the one before it, where a line is too long.

import { bytes } from "./irc.js";

export const multiline = "draft/multiline";
const concat = "draft/multiline-concat";

/**
 * maxAtOnce is how many messages one text may become; maxLinesAtOnce where each line is a message.
 * Both are guesses; servers slow down clients that send more.
 */
export const maxAtOnce = 10;
export const maxLinesAtOnce = 50;

/** parseLimits reads the value of draft/multiline. What is missing or absurd gets a default. */
export function parseLimits(value) {
  const limits = { bytes: 4096, lines: 32 };
  for (const word of (value ?? "").split(",")) {
    const [key, text] = word.split("=");
    const n = Number.parseInt(text, 10);
    if (key === "max-bytes" && n >= 512) limits.bytes = Math.min(n, 1 << 16);
    if (key === "max-lines" && n >= 1) limits.lines = Math.min(n, 256);
  }
  return limits;
}

/** trimLines makes all ends of lines LF, and removes empty lines around the text. */
export const trimLines = (text) =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(/^\s*\n/, "")
    .trimEnd();

/**
 * compose divides a text into messages, each a list of {text, same}. size bounds the bytes of one
 * line on the wire. It returns none if a character does not fit.
 */
export function compose(text, size, limits) {
  const out = [];
  let now = [];
  let used = 0;
  const flush = () => {
    if (now.some((part) => part.text !== "")) out.push(now);
    now = [];
    used = 0;
  };
  for (const line of trimLines(text).split("\n")) {
    for (const [i, piece] of exactly(line, size).entries()) {
      if (piece === "" && i > 0) return [];
      const more = bytes(piece) + 1;
      if (
        now.length > 0 &&
        (now.length === limits.lines || used + more > limits.bytes)
      )
        flush();
      now.push({ text: piece, same: i > 0 && now.length > 0 });
      used += more;
    }
  }
  flush();
  return out;
}

/**
 * exactly cuts a line into pieces of at most size bytes, behind blanks if possible, so that all
 * pieces together are the line. The last piece is empty if a character does not fit.
 */
function exactly(line, size) {
  const out = [];
  let piece = "";
  let used = 0;
  for (const c of line) {
    const more = bytes(c);
    if (more > size) return ["", ""];
    if (used + more > size) {
      const blank = piece.lastIndexOf(" ") + 1;
      const end = blank > piece.length / 2 ? blank : piece.length;
      out.push(piece.slice(0, end));
      piece = piece.slice(end);
      used = bytes(piece);
    }
    piece += c;
    used += more;
  }
  out.push(piece);
  return out;
}

/** joined is the text of a message of several lines. */
export const joined = (parts) =>
  parts
    .map(({ text, same }, i) => (i === 0 || same ? "" : "\n") + text)
    .join("");

/** wireOf is the lines on the wire of a message with tags, as tags and words. */
export function wireOf(command, target, parts, ref, tags) {
  const head = Object.keys(tags).length > 0 ? tags : null;
  if (parts.length === 1) return [[head, command, target, parts[0].text]];
  return [
    [head, "BATCH", `+${ref}`, multiline, target],
    ...parts.map(({ text, same }) => [
      { batch: ref, ...(same ? { [concat]: "" } : {}) },
      command,
      target,
      text,
    ]),
    [null, "BATCH", `-${ref}`],
  ];
}

/**
 * assemble makes one line of a batch: its tags are those of the line that opened the batch, and
 * its text has LF between the lines. It is null if nobody has said anything.
 */
export function assemble({ tags, source, target, lines }) {
  const command = lines[0]?.command ?? "";
  if (!/^(PRIVMSG|NOTICE)$/.test(command)) return null;
  const parts = lines.map((l) => ({
    text: l.params[1] ?? "",
    same: l.tags.has(concat),
  }));
  return { tags, source, command, params: [target, joined(parts)] };
}
