// Counter, one event loop for all clients: the count is a plain variable that nothing can race for,
// at the price of a single core.
"use strict";
const net = require("node:net");

const [port, host = "127.0.0.1"] = process.argv.slice(2);
let count = 0; // exact to 2^53

function answer(client, requests) {
  const replies = Buffer.allocUnsafe(8 * requests.length);
  let length = 0;
  for (const request of requests) {
    if (request > 1) {
      client.pause();
      client.write(replies.subarray(0, length));
      return client.destroySoon();
    }
    count += request;
    length = replies.writeUInt32BE(Math.floor(count / 2 ** 32), length);
    length = replies.writeUInt32BE(count % 2 ** 32, length);
  }
  // The server stops reading from a client that does not read.
  if (!client.write(replies)) client.pause();
}

const server = net.createServer({ allowHalfOpen: true, noDelay: true });
server.on("connection", (client) => {
  client.on("data", (requests) => answer(client, requests));
  client.on("drain", () => client.resume());
  client.on("end", () => client.end());
  client.on("error", () => client.destroy());
});
server.on("error", (error) => {
  console.error(error.message);
  if (!server.listening) process.exit(1);
});
server.listen({ port, host, backlog: 4096 }, () => console.error("ready"));

process.on("SIGTERM", () => process.exit(0));
process.on("SIGINT", () => process.exit(0));
