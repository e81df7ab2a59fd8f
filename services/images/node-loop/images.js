// Images on Fastify: one event loop for all clients. Blocking work (SQLite, decoding a picture) is
// done elsewhere, and its answer is one more event.
"use strict";
const fastify = require("fastify");
const querystring = require("node:querystring");
const { problem, Fault, PATH } = require("./fault");
const { Next } = require("./next");
const store = require("./store");
const web = require("./web");

const HEAD_MS = 20_000;
const ANSWER_MS = 60_000; // the last piece of an answer
const REQUEST_MS = 300_000;
const IDLE_MS = 120_000; // between two requests
const END_MS = 1_000; // for requests under way after SIGTERM
const under = new WeakMap(); // the last request of each connection

async function main([port, host, data, files, ...words]) {
  const others = words.filter((word) => word !== "-");
  const behind = others.find((word) => word.startsWith("http"));
  const [database, ...more] = others.filter((word) => word !== behind);
  if (!files || more.length > 0)
    throw new Error("expected PORT HOST DATA FILES [NEXT] [DATABASE]");
  const next = behind && new Next(behind);
  if (next && database)
    throw new Error(
      "a service with a next one keeps its images in SQLite: expected no DATABASE",
    );
  const app = fastify({
    keepAliveTimeout: IDLE_MS,
    requestTimeout: REQUEST_MS,
    // clients that are connected when the end begins are answered as usual
    return503OnClosing: false,
    http: { headersTimeout: HEAD_MS, connectionsCheckingInterval: 1_000 },
    // invalid UTF-8 becomes U+FFFD
    routerOptions: { querystringParser: (text) => querystring.parse(text) },
    clientErrorHandler: noRequest,
    frameworkErrors: (error, request, reply) => problem(reply, PATH),
  });
  app.removeAllContentTypeParsers();
  // a body is read as it comes, by upload.js
  app.addContentTypeParser("*", (request, payload, done) => done(null));
  app.setErrorHandler((error, request, reply) =>
    problem(reply, Fault.of(error)),
  );
  app.addHook("onRequest", async (request, reply) => {
    request.start = performance.now();
    reply.header("X-Content-Type-Options", "nosniff");
    patience(request.raw, reply.raw);
  });
  web.routes(app, await store.open(data, files, database), next, files);
  await app.listen({ port: Number(port), host });
  process.on("SIGTERM", async () => {
    setTimeout(() => process.exit(0), END_MS); // unfinished requests are cut off
    await app.close();
    process.exit(0);
  });
  console.error("ready");
}

// A client that takes nothing of its answer is ended, and so is a request that takes too long.
function patience(request, response) {
  const { socket } = request;
  const last = setTimeout(() => socket.destroy(), REQUEST_MS);
  response.once("close", () => clearTimeout(last));
  under.set(socket, { request, response });
  const { end } = response;
  response.end = (...args) => {
    // Node ends the connection then; a finished answer sets the limit between two requests
    socket.setTimeout(ANSWER_MS);
    return end.apply(response, args);
  };
}

// Invalid bytes after a whole request do not suppress its answer.
function noRequest(error, socket) {
  const { request, response } = under.get(socket) ?? {};
  if (request?.complete && !response.writableFinished) {
    response.once("close", () => socket.destroy());
  } else if (socket.writable) {
    socket.end(
      "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    );
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`images: ${error.message}`.replace(/\s+/g, " "));
  process.exit(1);
});
