// Reads uploads, in either form. Memory for a body is allocated as it arrives, never by its length.
"use strict";
const Busboy = require("@fastify/busboy");
const { once } = require("node:events");
const { TYPE, EMPTY, PARTS, BROKEN, LARGE } = require("./fault");

const IMAGE = 20 << 20; // bytes
const AROUND = 64 << 10; // of a multipart body beside the image
const FIRST = 64 << 10; // for the first byte; then twice as much each time
const STALL_MS = 20_000;
const RAW = [
  "image/jpeg",
  "image/png",
  "image/gif",
  "application/octet-stream",
];

// An Upload grows in memory of its own, which can be handed to another thread.
class Upload {
  name = "";
  #content = Buffer.alloc(0);
  #bytes = 0;

  constructor(room) {
    this.room = room;
  }

  add(piece, expected = Infinity) {
    const needed = this.#bytes + piece.length;
    if (needed > IMAGE) throw LARGE;
    if (needed > this.#content.length) {
      const wanted = Math.max(
        Math.min(Math.max(2 * this.#content.length, FIRST), expected),
        needed,
      );
      this.room.take(wanted - this.#content.length);
      const grown = Buffer.allocUnsafeSlow(wanted);
      this.#content.copy(grown, 0, 0, this.#bytes);
      this.#content = grown;
    }
    piece.copy(this.#content, this.#bytes);
    this.#bytes = needed;
  }

  get content() {
    if (this.#bytes === 0) throw EMPTY;
    return this.#content.subarray(0, this.#bytes);
  }
}

async function receive(request, room) {
  const type = (request.headers["content-type"] ?? "")
    .split(";")[0]
    .trim()
    .toLowerCase();
  const form = type === "multipart/form-data";
  if (!form && !RAW.includes(type)) throw TYPE;
  const most = IMAGE + (form ? AROUND : 0);
  const length = request.headers["content-length"];
  if (Number(length) > most) throw LARGE;
  const upload = new Upload(room);
  if (form) {
    await readForm(pieces(request.raw, most), request.headers, upload);
  } else {
    upload.name = [request.query.name ?? ""].flat()[0];
    for await (const piece of pieces(request.raw, most))
      upload.add(piece, length && Number(length));
  }
  return upload;
}

// The pieces of a body, up to so many bytes, with patience for each: Node ends the connection
// when it is over.
async function* pieces(body, most) {
  let left = most;
  body.socket.setTimeout(STALL_MS);
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false })) {
      if ((left -= piece.length) < 0) throw LARGE;
      yield piece;
    }
  } catch (error) {
    throw error === LARGE ? error : BROKEN;
  } finally {
    body.socket.setTimeout(0);
  }
}

async function readForm(body, headers, upload) {
  let images = 0;
  let fault;
  let parser;
  try {
    parser = new Busboy({
      headers,
      isPartAFile: (field, type, name) => name !== undefined,
    });
  } catch {
    throw PARTS; // no boundary
  }
  parser.on("file", (field, stream, name) => {
    stream.on("error", () => {
      fault ??= PARTS;
    });
    if (field !== "image") {
      stream.resume();
      return;
    }
    if (++images > 1) fault ??= PARTS;
    upload.name = name;
    stream.on("data", (piece) => {
      try {
        if (!fault) upload.add(piece);
      } catch (error) {
        fault = error;
      }
    });
  });
  const parsed = once(parser, "finish").catch(() => {
    fault ??= PARTS;
  });
  for await (const piece of body) {
    if (!parser.write(piece))
      await Promise.race([once(parser, "drain"), parsed]);
    if (fault) throw fault;
  }
  parser.end();
  await parsed;
  if (fault || images !== 1) throw fault ?? PARTS;
}

module.exports = { receive };
