// Sink, an event loop for each core: workers that share nothing but standard output, each batch of
// lines a write that the kernel keeps whole; the price is a write for every 4 KiB.
"use strict";
const cluster = require("node:cluster");
const net = require("node:net");
const os = require("node:os");

const [port, host = "127.0.0.1"] = process.argv.slice(2);
const LF = 10;
const LONGEST = 4096; // bytes with the LF: PIPE_BUF, as the service says

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

// Batches of at most LONGEST bytes, which a pipe takes whole; returns the line that has not ended.
function write(client, lines) {
  let room = true;
  for (;;) {
    const last = lines.subarray(0, LONGEST).lastIndexOf(LF);
    if (last < 0) break;
    room = process.stdout.write(lines.subarray(0, last + 1));
    lines = lines.subarray(last + 1);
  }
  if (!room) {
    // A standard output that is slow stops its clients from being read.
    client.pause();
    process.stdout.once("drain", () => client.resume());
  }
  return lines;
}

function work() {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true });
  server.on("connection", (client) => {
    let held = Buffer.alloc(0); // a line that has not ended
    client.on("data", (data) => {
      held = write(client, held.length ? Buffer.concat([held, data]) : data);
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
    if (!server.listening) process.send(error.message);
  });
  server.listen({ port, host, backlog: 4096 });

  process.stdout.on("error", (error) => process.send(error.message));
  process.stdout.setMaxListeners(0); // one for each client that waits
  process.stdout._writev = null; // or batches that wait would be joined into one write
}

if (cluster.isPrimary) lead();
else work();
