// Completion of the typed text: commands at the start, rooms after #, nicks elsewhere.

/** complete finds the words that the one before the cursor may become. */
export function complete(text, cursor, { nicks, rooms, commands }) {
  const start = text.lastIndexOf(" ", cursor - 1) + 1;
  const word = text.slice(start, cursor);
  if (!word) return null;
  const first = start === 0;
  let from = nicks;
  let end = first ? ": " : " ";
  if (first && word.startsWith("/"))
    [from, end] = [commands.map((c) => "/" + c), " "];
  else if (word.startsWith("#")) [from, end] = [rooms, " "];
  const at = word.startsWith("@") && from === nicks ? "@" : "";
  const begin = word.slice(at.length).toLowerCase();
  const words = from
    .filter((w) => w.toLowerCase().startsWith(begin))
    .map((w) => w + end);
  return words.length ? { start, words } : null;
}

/** put is the text with one of the words in the place of what was there up to the cursor. */
export function put(text, cursor, start, word) {
  return {
    text: text.slice(0, start) + word + text.slice(cursor),
    cursor: start + word.length,
  };
}
