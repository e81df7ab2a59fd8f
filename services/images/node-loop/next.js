// The service behind this one in a chain. This service stores only images that the next has stored,
// and fetches their bytes from it.
"use strict";
const http = require("node:http");
const { once } = require("node:events");
const {
  Fault,
  ABSENT,
  NEXT,
  NEXT_LATE,
  NEXT_BUSY,
  NEXT_FULL,
  RING,
} = require("./fault");

const CONNECTIONS = 64; // to the next service; a request waits for a free one
const LIMIT_MS = 10_000; // for all of its answer, waiting for a connection included
const IDLE_MS = 30_000; // that a connection to it is kept unused
const MOST_SERVICES = 16; // in a chain: more are a ring
const MOST_SAID = 64 << 10; // bytes of an answer that is no image
const FORM =
  /^http:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([1-9][0-9]{0,4})$/;
// Temporary faults, and those that the owner of a service behind must fix, are passed on.
const told = {
  404: ABSENT,
  503: NEXT_BUSY,
  504: NEXT_LATE,
  507: NEXT_FULL,
  508: RING,
};

class Next {
  #base;
  #agent = new http.Agent({
    keepAlive: true,
    maxSockets: CONNECTIONS,
    maxFreeSockets: CONNECTIONS,
    timeout: IDLE_MS,
  });

  constructor(word) {
    if (!(Number(FORM.exec(word)?.[1]) <= 65_535))
      throw new Error(
        `the next service: expected http://HOST:PORT, got ${word}`,
      );
    this.#base = word;
  }

  // Stores an image there, and in all behind, and gives the id and the time that the last
  // of them gives it.
  async add(request, { name, type, content }) {
    const { status, body } = await this.#ask(
      request,
      "POST",
      `/images?name=${encodeURIComponent(name)}`,
      MOST_SAID,
      { type, content },
    );
    // without this path it is another service
    if (status !== 201) throw (status !== 404 && told[status]) || NEXT;
    try {
      const { id, created } = JSON.parse(body.toString());
      const time = new Date(created);
      if (!Number.isSafeInteger(id) || id < 1 || time.toISOString() !== created)
        throw NEXT;
      return { id, created: time.getTime() };
    } catch {
      throw NEXT;
    }
  }

  // Gives the bytes of an image that is known here.
  async fetch(request, { id, bytes }) {
    const { status, body } = await this.#ask(
      request,
      "GET",
      `/images/${id}`,
      Math.max(bytes, MOST_SAID),
    );
    if (status !== 200 || body.length !== bytes)
      throw (status !== 200 && told[status]) || NEXT;
    return body;
  }

  // Deletes an image there, where it may have gone already.
  async remove(request, id) {
    const { status } = await this.#ask(
      request,
      "DELETE",
      `/images/${id}`,
      MOST_SAID,
    );
    if (status !== 204 && status !== 404) throw told[status] ?? NEXT;
  }

  async #ask(
    request,
    method,
    path,
    most,
    image,
    signal = AbortSignal.timeout(LIMIT_MS),
  ) {
    const { headers } = request;
    const via = headers.via ? headers.via.split(",") : [];
    if (via.length >= MOST_SERVICES - 1) throw RING;
    const out = http.request(this.#base + path, {
      method,
      agent: this.#agent,
      signal,
    });
    out.on("error", () => {}); // the waiting request gets the error
    out.setHeader("Via", [...via, "1.1 images"].join(", "));
    if (image)
      out
        .setHeader("Content-Type", image.type)
        .setHeader("Content-Length", image.content.length);
    try {
      out.end(image?.content);
      const [answer] = await once(out, "response");
      const pieces = [];
      let bytes = 0;
      for await (const piece of answer) {
        if ((bytes += piece.length) > most) throw NEXT;
        pieces.push(piece);
      }
      return { status: answer.statusCode, body: Buffer.concat(pieces) };
    } catch (error) {
      out.destroy();
      if (signal.aborted) throw NEXT_LATE;
      // The other end may have just closed a kept connection: an idempotent request is sent again,
      // on the next.
      if (out.reusedSocket && error.code === "ECONNRESET" && !image)
        return this.#ask(request, method, path, most, image, signal);
      throw error instanceof Fault ? error : NEXT;
    }
  }
}

module.exports = { Next };
