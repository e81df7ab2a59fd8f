// Echo, one event loop for all clients: no threads, no locks and little memory for a client,
// at the price of a single core and of callbacks that must never block.
"use strict";
const net = require("node:net");

const [port, host = "127.0.0.1"] = process.argv.slice(2);

const server = net.createServer({ allowHalfOpen: true, noDelay: true });
server.on("connection", (client) => {
  client.on("data", (data) => {
    // The server stops reading from a client that does not read.
    if (!client.write(data)) client.pause();
  });
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
