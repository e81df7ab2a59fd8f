// Messages as text nodes, never as markup. Links are recognised. IRC's formatting is shown or
// dropped, and characters that would reverse or hide text are removed.

// link finds http and https only. Other schemes never become links.
const link = /\bhttps?:\/\/[^\s<>"\u0000-\u001f]+/giu;

// hidden are control characters, and marks that reverse the text after them (Unicode TR 36).
const hidden =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const formats = {
  "\x02": "b",
  "\x1d": "i",
  "\x1f": "u",
  "\x1e": "s",
  "\x11": "m",
};

/** clean is a text of one line without anything that is not to be seen. */
export const clean = (text) => visible(text).replace(/\n/g, " ");

/** visible is clean, and leaves the ends of lines. */
const visible = (text) =>
  text
    .replace(
      /\x03(\d{1,2}(,\d{1,2})?)?|\x04([0-9a-f]{6}(,[0-9a-f]{6})?)?/gi,
      "",
    )
    .replace(hidden, "");

/** runs divides a text into pieces of one format each. */
export function runs(text) {
  const out = [];
  const on = new Set();
  let piece = "";
  const flush = () => {
    const seen = visible(piece);
    if (seen) out.push({ text: seen, on: [...on] });
    piece = "";
  };
  for (const c of text) {
    if (c === "\x0f" || c === "\n") {
      if (c === "\n") piece += c; // each line begins without a format
      flush();
      on.clear();
    } else if (formats[c]) {
      flush();
      if (!on.delete(formats[c])) on.add(formats[c]);
    } else piece += c;
  }
  flush();
  return out;
}

/**
 * links divides a plain text into what is a link and what is not. A bracket or a full stop
 * behind a link is not of it.
 */
export function links(text) {
  const out = [];
  let from = 0;
  for (const found of text.matchAll(link)) {
    const href = trimmed(found[0]);
    if (!good(href)) continue;
    if (found.index > from) out.push({ text: text.slice(from, found.index) });
    out.push({ text: href, href });
    from = found.index + href.length;
  }
  if (from < text.length) out.push({ text: text.slice(from) });
  return out;
}

function trimmed(url) {
  let out = url.replace(/[.,;:!?'*]+$/u, "");
  for (const [open, shut] of ["()", "[]", "{}"]) {
    while (
      out.endsWith(shut) &&
      out.split(shut).length > out.split(open).length
    )
      out = out.slice(0, -1);
  }
  return out;
}

function good(url) {
  try {
    const { protocol, hostname, username } = new URL(url);
    return /^https?:$/.test(protocol) && hostname !== "" && username === "";
  } catch {
    return false;
  }
}

// fences find code as in Markdown: a block between ```, and words of one line between `.
const fences =
  /```(?:[\w+-]*\n)?([^]*?)\n?```\n?|(?<![`\w])`(?![\s`])([^`\n]*[^\s`])`(?![`\w])/gu;

/** codes divides a text into what is code ("block" or "inline") and what is not. */
export function codes(text) {
  const out = [];
  let from = 0;
  for (const { 0: whole, 1: block, 2: words, index } of text.matchAll(fences)) {
    const inner = visible(block ?? words);
    if (!inner.trim()) continue;
    const before = text.slice(from, index);
    const kind = block === undefined ? "inline" : "block";
    // a block stands in lines of its own
    const plain = kind === "block" ? before.replace(/\n$/, "") : before;
    if (plain) out.push({ text: plain });
    out.push({ text: inner, kind });
    from = index + whole.length;
  }
  if (from < text.length) out.push({ text: text.slice(from) });
  return out;
}

/** nodes makes the nodes of one message. */
export const nodes = (text) =>
  codes(text).flatMap(({ text: part, kind }) => {
    if (!kind) return said(part);
    const node = document.createElement("code");
    node.className = kind;
    node.textContent = part;
    return [node];
  });

/** said makes the nodes of what is no code. */
function said(text) {
  return runs(text).flatMap(({ text: part, on }) =>
    links(part).map(({ text: words, href }) => {
      let node = document.createTextNode(words);
      if (href) {
        const a = document.createElement("a");
        a.href = href;
        a.target = "_blank";
        a.rel = "noopener noreferrer nofollow";
        a.append(node);
        node = a;
      }
      if (on.length === 0) return node;
      const span = document.createElement("span");
      span.className = on.map((f) => `format-${f}`).join(" ");
      span.append(node);
      return span;
    }),
  );
}
