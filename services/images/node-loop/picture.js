// Reads an image's type and size from its bytes. No pixel is decoded, and every length is checked.
"use strict";
const { KIND, WHOLE, PIXELS } = require("./fault");

const MOST_PIXELS = 50_000_000; // a bomb is small until it is decoded
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);
const JPEG_END = Buffer.from([0xff, 0xd9]);
const PNG = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

function look(b) {
  const begins = (with_) => b.subarray(0, with_.length).equals(with_);
  let type;
  let size;
  if (begins(JPEG)) {
    type = "image/jpeg";
    size = jpeg(b);
  } else if (begins(PNG)) {
    type = "image/png";
    size = png(b);
  } else if (begins(Buffer.from("GIF87a")) || begins(Buffer.from("GIF89a"))) {
    type = "image/gif";
    size = gif(b);
  } else {
    throw KIND;
  }
  if (!size || size.width <= 0 || size.height <= 0) throw WHOLE;
  if (size.width * size.height > MOST_PIXELS) throw PIXELS;
  return { type, ...size };
}

function gif(b) {
  if (b.length <= 10 || b[b.length - 1] !== 0x3b) return null;
  return { width: b.readUInt16LE(6), height: b.readUInt16LE(8) };
}

// Chunks, each a length, a name, its content and a checksum, to IEND.
function png(b) {
  const signature = 8;
  const around = 12;
  if (
    b.length < signature + around + 13 ||
    b.readUInt32BE(8) !== 13 ||
    b.toString("latin1", 12, 16) !== "IHDR"
  )
    return null;
  for (
    let at = signature;
    at + around <= b.length;
    at += around + b.readUInt32BE(at)
  ) {
    if (at + around + b.readUInt32BE(at) > b.length) return null;
    if (b.toString("latin1", at + 4, at + 8) === "IEND")
      return { width: b.readInt32BE(16), height: b.readInt32BE(20) };
  }
  return null;
}

// Segments, each a marker and a length that counts itself, to the first frame header. Behind it the
// image's end must come; before it a preview may have one of its own.
function jpeg(b) {
  for (let at = 2; at + 4 <= b.length;) {
    const marker = b[at + 1];
    if (b[at] !== 0xff) return null;
    if (marker === 0xff) {
      // a filler
      at++;
      continue;
    }
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      // alone, without a length
      at += 2;
      continue;
    }
    const length = 2 + b.readUInt16BE(at + 2);
    if (
      (marker >= 0xd8 && marker <= 0xda) ||
      length < 4 ||
      length > b.length - at
    )
      return null;
    if (
      marker >= 0xc0 &&
      marker <= 0xcf &&
      ![0xc4, 0xc8, 0xcc].includes(marker)
    ) {
      if (length < 9 || b.indexOf(JPEG_END, at + length) < 0) return null;
      return { width: b.readUInt16BE(at + 7), height: b.readUInt16BE(at + 5) };
    }
    at += length;
  }
  return null;
}

module.exports = { look };
