// Previews of links (papaya/preview), which the server makes: a TAGMSG that replies to the message
// and has the preview in a tag that no user can give. The image comes from our own server, so
// nobody else learns who looks at it.

import { clean } from "./text.js";

/** cap is the name of the capability, of the tag, and of the metadata that turns previews off. */
export const cap = "papaya/preview";

const most = 3; // previews of one message
const known = 5000; // messages whose previews are remembered
const widest = 320; // pixels of the page: an image is made smaller
const highest = 180;

/** previewed takes a TAGMSG: a preview, or something that is not shown here. */
export function previewed(s, line) {
  const of = line.tags.get("+draft/reply");
  const id = line.tags.get("msgid");
  const preview = parsed(line.tags.get(cap));
  if (!of || !id || !preview) return;
  const list = s.previews.get(of) ?? [];
  if (list.length >= most || list.some((p) => p.id === id)) return;
  s.previews.set(of, [...list, { ...preview, id }]);
  if (s.previews.size > known)
    s.previews.delete(s.previews.keys().next().value);
}

/** withdrawnPreview takes a preview back, which somebody has closed. */
export function withdrawnPreview(s, id) {
  for (const [of, list] of s.previews) {
    const left = list.filter((p) => p.id !== id);
    if (left.length === 0) s.previews.delete(of);
    else if (left.length < list.length) s.previews.set(of, left);
  }
}

/** parsed is the preview in a tag; undefined if it is none. */
function parsed(text) {
  try {
    const p = JSON.parse(text ?? "");
    const { protocol, host } = new URL(p.url);
    if (!/^https?:$/.test(protocol)) return undefined;
    const words = (v) => (typeof v === "string" ? clean(v) : "");
    const pixels = (v) => (Number.isInteger(v) && v > 0 && v < 10_000 ? v : 0);
    const [width, height] = [pixels(p.width), pixels(p.height)];
    const image = width && height && /^[A-Z2-7]{26}$/.test(p.image);
    return {
      url: p.url,
      host,
      site: words(p.site),
      title: words(p.title),
      text: words(p.text),
      image: image ? `preview/${p.image}` : "",
      width,
      height,
    };
  } catch {
    return undefined;
  }
}

/** showPreviews makes the cards below a message those of a list, which may be undefined. */
export function showPreviews(li, list, closable) {
  if (li.previews === list && li.closable === closable) return;
  li.previews = list;
  li.closable = closable;
  li.querySelector(":scope > .previews")?.remove();
  if (!list) return;
  const all = document.createElement("div");
  all.className = "previews";
  for (const p of list) all.append(card(p, closable));
  li.insertBefore(all, li.querySelector(":scope > :is(.reactions, .tools)"));
}

function card(p, closable) {
  const box = document.createElement("div");
  box.className = "preview";
  const a = document.createElement("a");
  a.href = p.url;
  a.target = "_blank";
  a.rel = "noopener noreferrer nofollow";
  // whatever the page calls itself, the host is where the link leads
  a.append(part("hint", p.site ? `${p.host} · ${p.site}` : p.host));
  if (p.title) a.append(part("preview-title", p.title));
  if (p.text) a.append(part("preview-text", p.text));
  if (p.image) a.append(picture(p));
  box.append(a);
  if (closable) {
    const close = document.createElement("button");
    close.type = "button";
    close.className = "preview-close";
    close.dataset.id = p.id;
    close.textContent = "×";
    close.setAttribute("aria-label", `Remove the preview of ${p.host}`);
    box.append(close);
  }
  return box;
}

function part(className, text) {
  const span = document.createElement("span");
  span.className = className;
  span.textContent = text;
  return span;
}

function picture(p) {
  const image = document.createElement("img");
  image.src = p.image;
  image.alt = "";
  const by = Math.min(1, widest / p.width, highest / p.height);
  image.width = Math.max(1, Math.round(p.width * by)); // it has room before it is there
  image.height = Math.max(1, Math.round(p.height * by));
  image.loading = "lazy";
  image.addEventListener("error", () => image.remove()); // it is kept for some time only
  return image;
}

/** closing makes the buttons of previews work: the server removes the preview for all. */
export function closing(list, current) {
  list.addEventListener("click", (event) => {
    const id = event.target.closest(".preview-close")?.dataset.id;
    const s = current();
    if (id && s) s.send("REDACT", s.active.name, id);
  });
}
