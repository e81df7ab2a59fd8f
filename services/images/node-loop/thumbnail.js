// Makes thumbnails, two at once: a decoder may lay out 200 MB for the largest image. libvips works
// on libuv's threads.
"use strict";
const sharp = require("sharp");
const { Turns } = require("./bounds");
const { DECODE, ROOM } = require("./fault");

const SIDE = 160; // pixels, at most
const WAIT_MS = 20_000;
const MOST_PIXELS = 50_000_000;
const makers = new Turns(2);
sharp.cache(false); // the database keeps thumbnails

async function make(image) {
  const scale = Math.min(1, SIDE / Math.max(image.width, image.height));
  const side = (n) => Math.max(1, Math.round(n * scale));
  const type = image.type === "image/jpeg" ? "image/jpeg" : "image/png";
  return makers.run(
    async () => {
      const small = sharp(image.content, {
        limitInputPixels: MOST_PIXELS,
      }).resize(side(image.width), side(image.height), { fit: "fill" });
      try {
        return {
          type,
          content: await (
            type === "image/jpeg" ? small.jpeg({ quality: 80 }) : small.png()
          ).toBuffer(),
        };
      } catch {
        throw DECODE;
      }
    },
    WAIT_MS,
    ROOM,
  );
}

module.exports = { make };
