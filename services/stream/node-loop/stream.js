// Stream, one event loop for all clients: node:http reads, refuses and codes, and a timer for each
// client is all that is ours. The price is one core, and the objects that the library keeps of each
// request and answer.
"use strict";
const http = require("node:http");

const [port, host = "127.0.0.1"] = process.argv.slice(2);
const PATH = /^\/test\/[A-Za-z0-9_-]{1,64}(?=\?|$)/;

// A write to a client that has gone makes an Error, and its stack trace was half the cost: when
// thousands left at once, the loop, and SIGTERM, waited for more than a second.
Error.stackTraceLimit = 0;

const limits = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  noDelay: true,
};

const server = http.createServer(limits, (request, response) => {
  const { socket } = request;
  if (socket.looksOn) return; // a stream's client has sent more
  if (!["1.0", "1.1"].includes(request.httpVersion))
    return refuse(response, request.httpVersion === "0.9" ? 400 : 505);
  const path = PATH.exec(request.url)?.[0];
  if (path === undefined) return refuse(response, 404);
  if (request.method !== "GET" && request.method !== "HEAD")
    return refuse(response, 405, { Allow: "GET, HEAD" });
  response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" });
  if (request.method === "HEAD") return response.end();
  socket.looksOn = true;
  process.nextTick(() => socket.pause()); // a client that has gone is noticed at a chunk
  stream(response, path);
});

function stream(response, path) {
  const began = performance.now();
  let number = 1;
  let timer;
  const wait = () => {
    timer = setTimeout(say, began + number * 1000 - performance.now());
  };
  const say = () => {
    // False: 16 KiB wait for a client that does not read.
    if (!response.write(`Chunk ${number++} for id ${path}\n`))
      response.destroy();
    else wait();
  };
  response.on("close", () => clearTimeout(timer));
  response.write(`Goconntest welcomes you! Your Id: ${path}\n`);
  wait();
}

function refuse(response, status, headers) {
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    ...headers,
  });
  response.end(`${http.STATUS_CODES[status]}\n`);
}

// Bytes after a stream's request may be invalid HTTP. They do not end the stream. All other errors
// are refused as node:http does.
server.on("clientError", (error, socket) => {
  if (socket.looksOn) return;
  const status =
    { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code] ??
    400;
  if (socket.writable)
    socket.write(
      `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`,
    );
  socket.destroySoon();
});
server.on("error", (error) => {
  if (server.listening) return; // out of descriptors: connected clients are still served
  console.error(error.message);
  process.exit(1);
});
server.listen({ port, host, backlog: 65535 }, () => console.error("ready"));

process.on("SIGTERM", () => process.exit(0));
process.on("SIGINT", () => process.exit(0));
