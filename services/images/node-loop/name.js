// Names are data, never paths.
"use strict";

const MOST = 200; // characters

function clean(name) {
  name = name.slice(
    Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1,
  );
  name = name
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, "")
    .trim();
  name = [...name].slice(0, MOST).join("").trim();
  return ["", ".", ".."].includes(name) ? "image" : name;
}

// The Content-Disposition of a name: one form for old clients, one for all characters.
function disposition(name) {
  const plain = [...name]
    .map((c) => (/[A-Za-z0-9._ -]/.test(c) ? c : "_"))
    .join("");
  const all = encodeURIComponent(name).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `inline; filename="${plain}"; filename*=UTF-8''${all}`;
}

module.exports = { clean, disposition };
