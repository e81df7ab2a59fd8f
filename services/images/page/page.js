// The page: it uploads one image after the other, shows what is stored, and deletes after
// asking. Names are only shown as text.
"use strict";

const byId = (id) => document.getElementById(id);
const mostBytes = 20 * 1024 * 1024;
const waiting = []; // uploads that have not begun
let busy = false;
let next = "/images?limit=20";

// element makes one with properties and children.
function element(tag, properties = {}, ...children) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children);
  return e;
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1e6) return `${Math.round(bytes / 1e3)} KB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

// reason is the detail of a problem, or the status of any other answer.
function reason(status, text) {
  try {
    const problem = JSON.parse(text);
    return `${problem.title}: ${problem.detail}`;
  } catch {
    return status
      ? `The server answered with status ${status}.`
      : "The server cannot be reached.";
  }
}

function say(text, failed = false) {
  byId("state").textContent = text;
  byId("state").classList.toggle("failed", failed);
}

function count() {
  const shown = byId("list").children.length;
  say(
    shown === 0
      ? "No images yet."
      : `${shown}${next ? " newest" : ""} image${shown === 1 ? "" : "s"}.`,
  );
}

// card is an image in the list.
function card(image) {
  const picture = element("img", {
    src: image.thumbnail,
    alt: "",
    loading: "lazy",
    decoding: "async",
  });
  const frame = element("div", { className: "picture" }, picture);
  picture.addEventListener("error", () =>
    frame.replaceChildren(
      element("span", { className: "lost", textContent: "No preview" }),
    ),
  );
  const remove = element("button", {
    type: "button",
    className: "danger",
    textContent: "Delete",
  });
  remove.setAttribute("aria-label", `Delete ${image.name}`);
  const day = new Date(image.created).toLocaleDateString();
  const item = element(
    "li",
    {},
    frame,
    element("a", { href: image.url, textContent: image.name }),
    element("p", {
      className: "facts",
      textContent: `${image.width} × ${image.height}, ${size(image.bytes)}, ${day}`,
    }),
    remove,
  );
  remove.addEventListener("click", () => ask(image, item));
  return item;
}

// ask asks whether to delete an image. The event that the last dialog was closed may come when the
// next is open.
let asked = null;
function ask(image, item) {
  const dialog = byId("sure");
  asked = { image, item };
  byId("question").textContent =
    `Delete “${image.name}”? It cannot be had back.`;
  dialog.returnValue = "no";
  dialog.showModal();
}
byId("sure").addEventListener("close", () => {
  if (byId("sure").returnValue === "yes") remove(asked.image, asked.item);
});

async function remove(image, item) {
  try {
    const answer = await fetch(image.url, { method: "DELETE" });
    if (!answer.ok && answer.status !== 404)
      throw new Error(reason(answer.status, await answer.text()));
  } catch (error) {
    say(
      `“${image.name}” was not deleted. ${error instanceof TypeError ? reason(0) : error.message}`,
      true,
    );
    return;
  }
  const after = item.nextElementSibling || item.previousElementSibling;
  item.remove();
  count();
  (after?.querySelector("button") || byId("list")).focus();
}

// load shows the next page of the list.
async function load() {
  try {
    const answer = await fetch(next);
    const text = await answer.text();
    if (!answer.ok) throw new Error(reason(answer.status, text));
    const page = JSON.parse(text);
    next = page.next;
    byId("list").append(...page.images.map(card));
    byId("more").textContent = "Show more";
    byId("more").hidden = !next;
    count();
  } catch (error) {
    say(
      `The list cannot be shown. ${error instanceof TypeError ? reason(0) : error.message}`,
      true,
    );
    byId("more").textContent = "Try again";
    byId("more").hidden = false;
  }
}

// add puts files into the queue; one is uploaded at a time.
function add(files) {
  for (const file of files) {
    const bar = element("progress", { max: 1, value: 0 });
    bar.setAttribute("aria-label", `Upload of ${file.name}`);
    const state = element("span", { className: "how", textContent: "waiting" });
    const row = element(
      "li",
      {},
      element("span", { className: "name", textContent: file.name }),
      state,
      bar,
    );
    byId("uploads").append(row);
    waiting.push({ file, bar, state, row });
  }
  upload();
}

function upload() {
  if (busy || waiting.length === 0) return;
  const { file, bar, state, row } = waiting.shift();
  const failed = (why) => {
    bar.remove();
    const close = element("button", { type: "button", textContent: "Dismiss" });
    close.setAttribute(
      "aria-label",
      `Dismiss the failed upload of ${file.name}`,
    );
    close.addEventListener("click", () => row.remove());
    state.replaceWith(close);
    row.append(
      element("p", {
        className: "failed",
        role: "alert",
        textContent: `Not stored. ${why}`,
      }),
    );
    busy = false;
    upload();
  };
  busy = true;
  if (file.size > mostBytes) {
    failed("An image has at most 20 MiB.");
    return;
  }
  const request = new XMLHttpRequest(); // fetch does not tell how much was sent
  request.open(
    "POST",
    `/images?name=${encodeURIComponent(file.name.toWellFormed())}`,
  );
  request.setRequestHeader(
    "Content-Type",
    ["image/jpeg", "image/png", "image/gif"].includes(file.type)
      ? file.type
      : "application/octet-stream",
  );
  request.upload.addEventListener("progress", (e) => {
    bar.value = e.total ? e.loaded / e.total : 1;
    state.textContent =
      e.loaded < e.total ? `${Math.floor(100 * bar.value)} %` : "storing";
  });
  request.addEventListener("error", () => failed(reason(0)));
  request.addEventListener("load", () => {
    if (request.status !== 201) {
      failed(reason(request.status, request.responseText));
      return;
    }
    row.remove();
    byId("list").prepend(card(JSON.parse(request.responseText)));
    count();
    busy = false;
    upload();
  });
  request.send(file);
}

byId("choose").addEventListener("change", (e) => {
  add(e.target.files);
  e.target.value = "";
});
byId("more").addEventListener("click", load);
for (const name of ["dragenter", "dragover"]) {
  document.addEventListener(name, (e) => {
    e.preventDefault();
    byId("drop").classList.add("over");
  });
}
document.addEventListener("dragleave", (e) => {
  if (!e.relatedTarget) byId("drop").classList.remove("over");
});
document.addEventListener("drop", (e) => {
  e.preventDefault();
  byId("drop").classList.remove("over");
  add(e.dataTransfer.files);
});
load();
