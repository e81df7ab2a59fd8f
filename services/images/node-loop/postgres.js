// PostgreSQL needs no thread: a query is a message, and the answer an event.
"use strict";
const pg = require("pg");
const { GONE, FULL } = require("./fault");

const CONNECTIONS = 16;
const ASK_MS = 10_000; // for a connection, and for its answer
const BIGINT = 20; // ids and milliseconds, which a double holds
const DISK_FULL = "53100";

async function open(url, sql, schema) {
  pg.types.setTypeParser(BIGINT, Number);
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: ASK_MS,
    query_timeout: ASK_MS,
  });
  pool.on("error", () => {}); // an idle connection was lost: the next query makes another
  await pool.query(schema);
  const ask = async (name, values) => {
    try {
      const text = sql[name].replace("AS BLOB", "AS BYTEA"); // the only difference between the two
      return (await pool.query({ name, text, values })).rows;
    } catch (error) {
      throw error.code === DISK_FULL ? FULL : GONE;
    }
  };
  return { read: ask, write: ask };
}

module.exports = { open };
