// The bounds for all requests together: uploads, and bytes of memory.
"use strict";
const { ROOM } = require("./fault");

const UPLOADS = 1024;
const HELD_BYTES = 512 << 20;
let uploads = 0;
let held = 0;

// Room is the memory of one request, until it ends.
class Room {
  #mine = 0;

  take(bytes) {
    if (held + bytes > HELD_BYTES) throw ROOM;
    held += bytes;
    this.#mine += bytes;
  }

  leave() {
    held -= this.#mine;
    this.#mine = 0;
  }
}

// Counts an upload as long as it lasts.
async function upload(work) {
  if (uploads === UPLOADS) throw ROOM;
  uploads++;
  const room = new Room();
  try {
    return await work(room);
  } finally {
    uploads--;
    room.leave();
  }
}

// Turns lets a number of tasks run at once; others wait for a limited time.
class Turns {
  #free;
  #waiting = [];

  constructor(number) {
    this.#free = number;
  }

  async run(work, waitMS, late) {
    if (this.#free > 0) {
      this.#free--;
    } else {
      await new Promise((resolve, reject) => {
        const next = () => {
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(next), 1);
          reject(late);
        }, waitMS);
        this.#waiting.push(next);
      });
    }
    try {
      return await work();
    } finally {
      if (this.#waiting.length > 0) this.#waiting.shift()();
      else this.#free++;
    }
  }
}

module.exports = { Room, Turns, upload };
