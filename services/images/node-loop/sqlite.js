// SQLite blocks its caller's thread, so each connection has a worker thread: one that writes, and
// some that read.
"use strict";
const { Worker } = require("node:worker_threads");
const { once } = require("node:events");
const { Turns } = require("./bounds");
const { GONE, FULL } = require("./fault");

const READERS = 4;
const ASK_MS = 10_000;
const SQLITE_FULL = 13;

// A Lane gives each query to an idle worker.
class Lane {
  #idle;
  #turns;

  constructor(workers) {
    this.#idle = workers;
    this.#turns = new Turns(workers.length);
  }

  async ask(name, values) {
    const answer = this.#turns.run(
      async () => {
        const worker = this.#idle.pop();
        // A large value is transferred; its sender loses it.
        worker.postMessage(
          { name, values },
          values.filter((v) => v instanceof Uint8Array).map((v) => v.buffer),
        );
        const [said] = await once(worker, "message");
        this.#idle.push(worker);
        return said;
      },
      ASK_MS,
      GONE,
    );
    let timer;
    const late = new Promise((resolve, reject) => {
      timer = setTimeout(reject, ASK_MS, GONE);
    });
    const { rows, error } = await Promise.race([answer, late]).finally(() =>
      clearTimeout(timer),
    );
    if (error !== undefined) throw error === SQLITE_FULL ? FULL : GONE;
    return rows;
  }
}

async function start(workerData) {
  const worker = new Worker(require.resolve("./sqlite-worker.js"), {
    workerData,
  });
  await once(worker, "message"); // or the error that it ended with
  worker.on("error", (error) => {
    throw error;
  }); // it answers errors of the database: this is one of ours
  return worker;
}

async function open(file, sql, told, schema) {
  const writer = await start({ file, sql, told: told + schema });
  const readers = await Promise.all(
    Array.from({ length: READERS }, () => start({ file, sql, told })),
  );
  const [write, read] = [new Lane([writer]), new Lane(readers)];
  return { read: read.ask.bind(read), write: write.ask.bind(write) };
}

module.exports = { open };
