// The syntax of IRC: text in, text out, without a page or a connection.

const unescapes = { ":": ";", s: " ", "\\": "\\", r: "\r", n: "\n" };
const maxParams = 15; // RFC 2812 section 2.3
const escapes = {
  ";": "\\:",
  " ": "\\s",
  "\\": "\\\\",
  "\r": "\\r",
  "\n": "\\n",
};

/** parse takes a line without its end to pieces; a line that says nothing is null. */
export function parse(line) {
  if (/[\0\r\n]/.test(line)) return null;
  const tags = new Map();
  let rest = line;
  if (rest.startsWith("@")) {
    const [head, after] = cut(rest.slice(1));
    rest = after;
    for (const tag of head.split(";")) {
      const at = tag.indexOf("=");
      const key = at < 0 ? tag : tag.slice(0, at);
      if (key) tags.set(key, at < 0 ? "" : unescapeTag(tag.slice(at + 1)));
    }
  }
  let source = "";
  rest = rest.replace(/^ +/, "");
  if (rest.startsWith(":")) [source, rest] = cut(rest.slice(1));
  let command;
  [command, rest] = cut(rest);
  if (!command) return null;
  const params = [];
  while (rest) {
    if (rest.startsWith(":") || params.length === maxParams - 1) {
      params.push(rest.replace(/^:/, ""));
      break;
    }
    let word;
    [word, rest] = cut(rest);
    params.push(word);
  }
  return {
    tags,
    source,
    command: command.replace(/[a-z]/g, (c) => c.toUpperCase()),
    params,
  };
}

function cut(text) {
  const at = text.indexOf(" ");
  if (at < 0) return [text, ""];
  let next = at;
  while (text[next] === " ") next++;
  return [text.slice(0, at), text.slice(next)];
}

function unescapeTag(value) {
  return value.replace(/\\(.?)/gs, (_, c) => unescapes[c] ?? c);
}

/** format makes a line of words; the last may hold blanks. Ends of lines cannot be smuggled in. */
export function format(tags, command, ...params) {
  const head = Object.entries(tags ?? {}).map(
    ([k, v]) => `${k}=${v.replace(/[; \\\r\n]/g, (c) => escapes[c])}`,
  );
  const words = params.map((p) => p.replace(/[\r\n\0]+/g, " "));
  const last = words.length - 1;
  if (
    last >= 0 &&
    (words[last] === "" ||
      words[last].startsWith(":") ||
      words[last].includes(" "))
  ) {
    words[last] = ":" + words[last];
  }
  return [head.length ? "@" + head.join(";") : "", command, ...words]
    .filter((w) => w !== "")
    .join(" ");
}

/** fold makes names equal that the server's casemapping has as equal. */
export function fold(name, casemapping = "ascii") {
  const lower = name.replace(/[A-Z]/g, (c) => c.toLowerCase());
  if (casemapping === "ascii") return lower;
  const strict = lower.replace(
    /[[\]\\]/g,
    (c) => ({ "[": "{", "]": "}", "\\": "|" })[c],
  );
  return casemapping === "rfc1459" ? strict.replaceAll("^", "~") : strict;
}

/** nickOf is the name in nick!user@host; a server's name stays whole. */
export function nickOf(source) {
  const at = source.search(/[!@]/);
  return at < 0 ? source : source.slice(0, at);
}

const encoder = new TextEncoder();

/** bytes is the length of a text on the wire. */
export const bytes = (text) => encoder.encode(text).length;

/** pieces cuts a text at blanks, or between characters, into parts of at most size bytes. */
export function pieces(text, size) {
  const out = [];
  for (const line of text.split(/\r?\n/)) {
    let rest = line;
    while (bytes(rest) > size) {
      let fits = "";
      let used = 0;
      for (const c of rest) {
        used += bytes(c);
        if (used > size) break;
        fits += c;
      }
      if (!fits) return out; // size is smaller than one character
      const blank = fits.lastIndexOf(" ");
      const end = blank > fits.length / 2 ? blank : fits.length;
      out.push(rest.slice(0, end));
      rest = rest.slice(end).trimStart();
    }
    if (rest) out.push(rest);
  }
  return out;
}

/**
 * plain64 is the answer to AUTHENTICATE PLAIN, in the parts of at most 400 bytes that SASL 3.1
 * asks for.
 */
export function plain64(account, password) {
  const raw = encoder.encode(`\0${account}\0${password}`);
  const text = btoa(String.fromCharCode(...raw));
  const out = text.match(/.{1,400}/g) ?? [];
  if (text.length % 400 === 0) out.push("+");
  return out;
}
