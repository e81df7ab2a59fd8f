// The requests of the service, one function each.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { Readable } = require("node:stream");
const bounds = require("./bounds");
const names = require("./name");
const { problem, ABSENT, METHOD, PATH, QUERY, RANGE } = require("./fault");
const { look } = require("./picture");
const { make } = require("./thumbnail");
const { receive } = require("./upload");

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".yaml": "application/yaml",
};
const PIECE = 256 << 10; // bytes
const ANSWER_MS = 60_000; // for a piece: the kernel takes the next when a third of 4 MiB is gone
const MOST_ID = 999_999_999_999_999;

// A number from 1 to most in decimal digits, without a zero before them; otherwise it
// is this fault.
function number(text, most, fault) {
  if (!/^[1-9][0-9]{0,14}$/.test(text) || Number(text) > most) throw fault;
  return Number(text);
}

function info({ id, name, type, bytes, width, height, created }) {
  const url = `/images/${id}`;
  return {
    id,
    name,
    type,
    bytes,
    width,
    height,
    created: new Date(created).toISOString(),
    url,
    thumbnail: `${url}/thumbnail`,
  };
}

// nextMS is undefined if the next service was not asked.
function timing(request, databaseMS, nextMS) {
  const next = nextMS === undefined ? "" : `next;dur=${nextMS.toFixed(3)}, `;
  const allMS = performance.now() - request.start;
  return `db;dur=${databaseMS.toFixed(3)}, ${next}all;dur=${allMS.toFixed(3)}`;
}

function routes(app, store, next, files) {
  const known = read(files);
  app.post("/images", (request, reply) =>
    bounds.upload(async (room) => {
      const upload = await receive(request, room);
      const { content } = upload;
      const image = {
        name: names.clean(upload.name),
        ...look(content),
        bytes: content.length,
        created: Date.now(),
        content,
      };
      const began = performance.now();
      // It is asked first, so that every image of this service is everywhere behind.
      if (next) Object.assign(image, await next.add(request, image));
      const asked = performance.now();
      try {
        image.id = await store.add(image);
      } catch (error) {
        // Otherwise the image would stay there, and no client was told of it.
        if (next) await next.remove(request, image.id).catch(() => {});
        throw error;
      }
      reply.code(201).headers({
        Location: `/images/${image.id}`,
        "Server-Timing": timing(
          request,
          performance.now() - asked,
          next && asked - began,
        ),
      });
      return info(image);
    }),
  );
  app.get("/images", (request) => list(store, request.query));
  app.get("/images/:id", (request, reply) =>
    fetch(store, next, request, reply),
  );
  app.get("/images/:id/thumbnail", (request, reply) =>
    thumbnail(store, request, reply),
  );
  app.delete("/images/:id", async (request, reply) => {
    const id = number(request.params.id, MOST_ID, ABSENT);
    if (next) await next.remove(request, id); // first: if it cannot be reached, nothing has changed
    await store.remove(id);
    return reply.code(204).send();
  });
  app.get("/healthz", async () => {
    await store.ask();
    return { status: "ok" };
  });
  for (const [name, file] of known) {
    app.get(name, async (request, reply) =>
      reply
        .headers({
          "Content-Type": file.type,
          "Cache-Control": "no-cache",
          "Content-Security-Policy": POLICY,
        })
        .send(file.content),
    );
  }
  app.setNotFoundHandler((request, reply) => {
    const allow = methods(request.url.split("?")[0], known);
    if (!allow) return problem(reply, PATH);
    return problem(reply.header("Allow", allow), METHOD);
  });
}

// The methods of a known path.
function methods(name, known) {
  if (name === "/images") return "GET, HEAD, POST";
  if (/^\/images\/[1-9][0-9]{0,14}$/.test(name)) return "GET, HEAD, DELETE";
  if (
    name === "/healthz" ||
    known.has(name) ||
    /^\/images\/[1-9][0-9]{0,14}\/thumbnail$/.test(name)
  )
    return "GET, HEAD";
  return null;
}

// Files are read at the start: a request's path is looked up among names, never on the disk.
function read(dir) {
  const page = path.join(dir, "page");
  const all = [
    ...fs.readdirSync(page).map((name) => path.join(page, name)),
    path.join(dir, "openapi.yaml"),
  ];
  return new Map(
    all.map((file) => {
      const name = path.basename(file);
      const type = TYPES[path.extname(name)] ?? "application/octet-stream";
      return [
        `/${name === "index.html" ? "" : name}`,
        { type, content: fs.readFileSync(file) },
      ];
    }),
  );
}

async function list(store, query) {
  const parameter = (value, usual, most) =>
    value === undefined ? usual : number([value].flat()[0], most, QUERY);
  const limit = parameter(query.limit, 20, 100);
  const before = parameter(query.before, MOST_ID, MOST_ID);
  const found = await store.list(before, limit + 1); // one more, to see whether more follow
  const images = found.slice(0, limit).map(info);
  return {
    images,
    next:
      found.length > limit
        ? `/images?limit=${limit}&before=${images.at(-1).id}`
        : null,
  };
}

// Whether the client has the image of the tag.
function unchanged(request, reply, tag) {
  reply.headers({ ETag: tag, "Cache-Control": "no-cache" });
  const list = (request.headers["if-none-match"] ?? "")
    .split(",")
    .map((t) => t.trim().replace(/^W\//, ""));
  if (!list.includes("*") && !list.includes(tag)) return false;
  reply.code(304).send();
  return true;
}

async function fetch(store, next, request, reply) {
  const id = number(request.params.id, MOST_ID, ABSENT);
  const began = performance.now();
  const tag = ({ created }) => `"${id}-${created}"`;
  let image;
  if (next || request.headers["if-none-match"]) {
    image = await store.get(id);
    if (
      request.headers["if-none-match"] &&
      unchanged(request, reply, tag(image))
    )
      return reply;
  }
  if (!next) image = await store.getWhole(id);
  const asked = performance.now();
  const room = new bounds.Room();
  room.take(image.bytes);
  reply.raw.once("close", () => room.leave());
  if (next) image.content = await next.fetch(request, image);
  const answered = performance.now();
  const content = Buffer.from(
    image.content.buffer,
    image.content.byteOffset,
    image.content.length,
  );
  const { from, end, partial } = range(
    request.headers,
    tag(image),
    content.length,
  );
  if (from >= content.length)
    return problem(
      reply.header("Content-Range", `bytes */${content.length}`),
      RANGE,
    );
  if (partial)
    reply
      .code(206)
      .header("Content-Range", `bytes ${from}-${end - 1}/${content.length}`);
  return reply
    .headers({
      "Content-Type": image.type,
      "Content-Disposition": names.disposition(image.name),
      "Accept-Ranges": "bytes",
      "Cache-Control": "no-cache",
      ETag: tag(image),
      "Server-Timing": timing(request, asked - began, next && answered - asked),
      "Content-Length": end - from,
    })
    .send(paced(request, content.subarray(from, end)));
}

// A large answer is sent in pieces, each of which the client must take in time.
function paced({ method, socket }, content) {
  if (method === "HEAD" || content.length <= PIECE) return content;
  return Readable.from(
    (function* pieces() {
      for (let at = 0; at < content.length; at += PIECE) {
        const stall = setTimeout(() => socket.destroy(), ANSWER_MS);
        try {
          yield content.subarray(at, at + PIECE);
        } finally {
          clearTimeout(stall);
        }
      }
    })(),
  );
}

// The requested range. For several ranges, or an invalid one, it is all bytes.
function range(headers, tag, size) {
  const all = { from: 0, end: size, partial: false };
  const on = headers["if-range"];
  const asked = /^bytes=([0-9]*)-([0-9]*)$/.exec(headers.range?.trim() ?? "");
  if (!asked || (on !== undefined && on !== tag) || asked[0] === "bytes=-")
    return all;
  const [, first, last] = asked;
  if (first === "")
    return {
      from: Number(last) === 0 ? size : Math.max(0, size - Number(last)),
      end: size,
      partial: true,
    };
  if (last !== "" && Number(last) < Number(first)) return all;
  return {
    from: Number(first),
    end: last === "" ? size : Math.min(Number(last) + 1, size),
    partial: true,
  };
}

async function thumbnail(store, request, reply) {
  const id = number(request.params.id, MOST_ID, ABSENT);
  let kept = await store.thumbnail(id);
  if (unchanged(request, reply, `"${id}-${kept.created}-t"`)) return reply;
  if (!kept.content) {
    const image = await store.getWhole(id);
    const room = new bounds.Room();
    room.take(image.content.length);
    kept = await make(image).finally(() => room.leave());
    // The database's thread takes its bytes away, so it gets a copy.
    const copy = { type: kept.type, content: new Uint8Array(kept.content) };
    await store.keep(id, copy).catch(() => {}); // one that cannot be kept is shown all the same
  }
  const { content } = kept;
  return reply
    .header("Content-Type", kept.type)
    .send(Buffer.from(content.buffer, content.byteOffset, content.length));
}

module.exports = { routes };
