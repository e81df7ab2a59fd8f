// The database: SQLite in a file, or PostgreSQL. All models read the statements for connections
// and tables from the same files.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { ABSENT } = require("./fault");

const COLUMNS = "SELECT id, name, type, bytes, width, height, created";
const sql = {
  add: `INSERT INTO image (name, type, bytes, width, height, created, content)
    VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`,
  addAs: `INSERT INTO image (name, type, bytes, width, height, created, content, id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
  get: `${COLUMNS} FROM image WHERE id = $1`,
  getWhole: `${COLUMNS}, content FROM image WHERE id = $1`,
  list: `${COLUMNS} FROM image WHERE id < $1 ORDER BY id DESC LIMIT $2`,
  thumbnail: `SELECT created, thumbnail.type AS type, thumbnail.content AS content
    FROM image LEFT JOIN thumbnail ON image = id WHERE id = $1`,
  // Another request may have stored it, and the image may have been deleted meanwhile.
  keep: `INSERT INTO thumbnail (image, type, content)
    SELECT id, CAST($1 AS TEXT), CAST($2 AS BLOB) FROM image WHERE id = $3 ON CONFLICT DO NOTHING`,
  remove: "DELETE FROM image WHERE id = $1 RETURNING id",
  ask: "SELECT 1",
};

class Store {
  #database;

  constructor(database) {
    this.#database = database;
  }

  // Stores an image. Without an id the database assigns one.
  async add(image) {
    const { id, name, type, content, width, height, created } = image;
    const values = [
      name,
      type,
      content.length,
      width,
      height,
      created,
      content,
    ];
    const [row] = await (id
      ? this.#database.write("addAs", [...values, id])
      : this.#database.write("add", values));
    return row.id;
  }

  async get(id) {
    return this.#one("get", id);
  }

  async getWhole(id) {
    return this.#one("getWhole", id);
  }

  async list(before, limit) {
    return this.#database.read("list", [before, limit]);
  }

  async thumbnail(id) {
    return this.#one("thumbnail", id);
  }

  async keep(id, { type, content }) {
    await this.#database.write("keep", [type, content, id]);
  }

  async remove(id) {
    if ((await this.#database.write("remove", [id])).length === 0) throw ABSENT;
  }

  async ask() {
    await this.#database.read("ask", []);
  }

  async #one(statement, id) {
    const [row] = await this.#database.read(statement, [id]);
    if (!row) throw ABSENT;
    return row;
  }
}

async function open(data, files, database) {
  const read = (name) => fs.readFileSync(path.join(files, name), "utf8");
  if (database)
    return new Store(
      await require("./postgres").open(
        database,
        sql,
        read("schema.postgresql.sql"),
      ),
    );
  fs.mkdirSync(data, { recursive: true });
  const file = path.join(data, "images.db");
  return new Store(
    await require("./sqlite").open(
      file,
      sql,
      read("connect.sqlite.sql"),
      read("schema.sqlite.sql"),
    ),
  );
}

module.exports = { open };
