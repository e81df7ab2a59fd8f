// One connection to SQLite, and the thread that it may block. It answers one query after the other.
"use strict";
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("@photostructure/sqlite");

const { file, sql, told } = workerData;
const database = new DatabaseSync(file);
database.exec(told);
const statements = new Map();

function statement(name) {
  if (!statements.has(name))
    statements.set(name, database.prepare(sql[name].replace(/\$/g, "?")));
  return statements.get(name);
}

parentPort.on("message", ({ name, values }) => {
  try {
    const rows = statement(name).all(...values);
    const bytes = rows
      .filter((row) => row.content instanceof Uint8Array)
      .map((row) => row.content.buffer);
    parentPort.postMessage({ rows }, bytes);
  } catch (error) {
    parentPort.postMessage({ error: (error.sqliteCode ?? 0) & 0xff });
  }
});
parentPort.postMessage("ready");
