// Counter, an event loop for each core: the workers share no memory, so the count lives in a
// database. The price is a round trip to Redis for each batch of requests.
"use strict";
const { spawn } = require("node:child_process");
const cluster = require("node:cluster");
const fs = require("node:fs");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");
const { createClient } = require("redis");

const [port, host = "127.0.0.1"] = process.argv.slice(2);

// Redis without persistence in a directory of its own. When this process ends, by kill -9 too,
// cat's input ends, and both end.
const keep = `exec 3<&0; (trap "" TERM; cat <&3; kill $$; rm -rf "$0") &
  exec redis-server --port 0 --unixsocket "$0/redis" --save ""`;

function lead() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "counter-"));
  const redis = spawn("sh", ["-c", keep, directory], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let starting = os.availableParallelism();
  let status; // of the exit, once it is due
  const stop = (code, problem) => {
    if (status === undefined && problem) console.error(problem);
    status ??= code;
    const alive = (worker) => !worker.isDead();
    const workers = Object.values(cluster.workers).filter(alive);
    for (const worker of workers) worker.process.kill();
    if (workers.length === 0) redis.stdin.end();
  };
  const fill = () => {
    if (status === undefined) cluster.fork({ DIRECTORY: directory });
  };
  redis.stdout.resume();
  redis.on("exit", () => stop(1, "redis-server ended"));
  redis.on("close", () => process.exit(status));
  // A message to a worker that has just died fails on its channel; the exit, which follows,
  // is what counts.
  cluster.on("fork", (worker) => worker.on("error", () => {}));
  cluster.on("listening", () => {
    if (--starting === 0) console.error("ready");
  });
  cluster.on("message", (worker, problem) => stop(1, problem));
  cluster.on("exit", () => {
    if (status === undefined) setTimeout(fill, 100);
    else stop();
  });
  process.on("SIGTERM", () => stop(0));
  process.on("SIGINT", () => stop(0));
  for (let i = 0; i < starting; i++) fill();
}

// One command takes all increments of a batch; the replies follow from the count before them.
async function answer(redis, client, requests) {
  const wrong = requests.findIndex((request) => request > 1);
  const known = wrong < 0 ? requests : requests.subarray(0, wrong);
  const increments = known.reduce((sum, request) => sum + request, 0);
  let count = (await redis.incrBy("count", increments)) - increments;
  const replies = Buffer.allocUnsafe(8 * known.length);
  known.forEach((request, i) => {
    count += request; // exact to 2^53
    replies.writeUInt32BE(Math.floor(count / 2 ** 32), 8 * i);
    replies.writeUInt32BE(count % 2 ** 32, 8 * i + 4);
  });
  const room = client.write(replies);
  if (wrong >= 0) client.destroySoon();
  else if (room) client.resume();
}

async function work() {
  const address = path.join(process.env.DIRECTORY, "redis");
  const redis = createClient({
    socket: { path: address, reconnectStrategy: 20 },
  });
  redis.on("error", () => {}); // not there yet: the client tries again after 20 ms
  await redis.connect();
  const server = net.createServer({ allowHalfOpen: true, noDelay: true });
  server.on("connection", (client) => {
    let answered = Promise.resolve();
    client.on("data", (requests) => {
      client.pause(); // until these are answered and the client has read
      answered = answer(redis, client, requests).catch(() => client.destroy());
    });
    client.on("drain", () => client.resume());
    client.on("end", () => answered.then(() => client.end()));
    client.on("error", () => client.destroy());
  });
  server.on("error", (error) => {
    if (!server.listening) process.send(error.message);
  });
  server.listen({ port, host, backlog: 4096 });
}

if (cluster.isPrimary) lead();
else work();
