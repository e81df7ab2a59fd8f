// Echo, an event loop for each core: the primary accepts and deals the clients out to workers,
// which share nothing; the price is a process for each core and uneven load when clients differ.
"use strict";
const cluster = require("node:cluster");
const net = require("node:net");
const os = require("node:os");

const [port, host = "127.0.0.1"] = process.argv.slice(2);

function lead() {
  let starting = os.availableParallelism();
  let status; // of the exit, once it is due
  const stop = (code) => {
    status ??= code;
    const alive = (worker) => !worker.isDead();
    const workers = Object.values(cluster.workers).filter(alive);
    for (const worker of workers) worker.process.kill();
    if (workers.length === 0) process.exit(status);
  };
  const refill = () => {
    if (status === undefined) cluster.fork();
  };
  // A message to a worker that has just died fails on its channel; the exit, which follows,
  // is what counts.
  cluster.on("fork", (worker) => worker.on("error", () => {}));
  cluster.on("listening", () => {
    if (--starting === 0) console.error("ready");
  });
  cluster.on("message", (worker, problem) => {
    if (status === undefined) console.error(problem);
    stop(1);
  });
  cluster.on("exit", () => {
    if (status === undefined) setTimeout(refill, 100);
    else stop();
  });
  process.on("SIGTERM", () => stop(0));
  process.on("SIGINT", () => stop(0));
  for (let i = 0; i < starting; i++) cluster.fork();
}

function work() {
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
    if (!server.listening) process.send(error.message);
  });
  server.listen({ port, host, backlog: 4096 });
}

if (cluster.isPrimary) lead();
else work();
