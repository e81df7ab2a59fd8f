// Sink, one event loop for all clients: lines cannot mix, since one thread writes them all,
// at the price of a single core.
"use strict";
const net = require("node:net");

const [port, host = "127.0.0.1"] = process.argv.slice(2);
const LF = 10;
const LONGEST = 4096; // bytes with the LF: PIPE_BUF, as the service says

// The length of the lines that have ended. Steps of LONGEST stop at a line that is too long.
function ended(data) {
  for (let length = 0; ;) {
    const last = data.subarray(length, length + LONGEST).lastIndexOf(LF);
    if (last < 0) return length;
    length += last + 1;
  }
}

// While standard output is slow, its clients are not read.
function write(client, lines) {
  if (process.stdout.write(lines)) return;
  client.pause();
  process.stdout.once("drain", () => client.resume());
}

const server = net.createServer({ allowHalfOpen: true, noDelay: true });
server.on("connection", (client) => {
  let held = Buffer.alloc(0); // a line that has not ended
  client.on("data", (data) => {
    held = held.length ? Buffer.concat([held, data]) : data;
    const length = ended(held);
    if (length) write(client, held.subarray(0, length));
    held = held.subarray(length);
    if (held.length >= LONGEST) client.destroy();
  });
  client.on("end", () => {
    // A reset may look like an end, but leaves the client without an address.
    const last =
      held.length && client.remoteAddress ? [held, Buffer.of(LF)] : [];
    process.stdout.write(Buffer.concat(last), () => client.end());
  });
  client.on("error", () => client.destroy());
});
server.on("error", (error) => {
  console.error(error.message);
  if (!server.listening) process.exit(1);
});
server.listen({ port, host, backlog: 4096 }, () => console.error("ready"));

process.stdout.setMaxListeners(0); // one for each client that waits
process.stdout.on("error", (error) => {
  console.error(error.message);
  process.exit(1);
});
process.on("SIGTERM", () => process.exit(0));
process.on("SIGINT", () => process.exit(0));
