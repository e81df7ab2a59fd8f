// Every error as application/problem+json (RFC 9457): a status, and a sentence for the
// person who asked.
"use strict";
const { STATUS_CODES } = require("node:http");

class Fault extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }

  // Other errors are Fastify's, which have a status, or came from reading a body.
  static of(error) {
    if (error instanceof Fault) return error;
    if (error.statusCode === 415) return faults.TYPE;
    return faults.BROKEN;
  }
}

const faults = {
  ABSENT: new Fault(404, "there is no such image"),
  PATH: new Fault(404, "there is nothing at this path"),
  METHOD: new Fault(405, "this path has no such method"),
  QUERY: new Fault(400, "limit is 1 to 100, and before the id of an image"),
  TYPE: new Fault(
    415,
    "expected Content-Type image/jpeg, image/png, image/gif, " +
      "application/octet-stream or multipart/form-data",
  ),
  EMPTY: new Fault(400, "the body is empty: expected the bytes of an image"),
  PARTS: new Fault(
    400,
    'expected a whole multipart body with one part "image"',
  ),
  BROKEN: new Fault(400, "the body cannot be read to its end"),
  LARGE: new Fault(413, "an image has at most 20 MiB"),
  KIND: new Fault(415, "the bytes are no JPEG, PNG or GIF"),
  WHOLE: new Fault(422, "the image is damaged or not whole"),
  PIXELS: new Fault(422, "the image has more than 50,000,000 pixels"),
  DECODE: new Fault(422, "the image cannot be decoded"),
  RANGE: new Fault(416, "the range begins beyond the end"),
  ROOM: new Fault(503, "too much is under way"),
  GONE: new Fault(503, "the database cannot be asked"),
  FULL: new Fault(507, "the database has no room"),
  NEXT: new Fault(502, "the next service of the chain cannot be asked"),
  NEXT_LATE: new Fault(
    504,
    "the next service of the chain does not answer in time",
  ),
  NEXT_BUSY: new Fault(
    503,
    "a service further along the chain has too much under way",
  ),
  NEXT_FULL: new Fault(507, "a service further along the chain has no room"),
  RING: new Fault(508, "the chain has more than 16 services, or is a ring"),
};

// Answers with a problem, without waiting for the rest of the body.
function problem(reply, fault) {
  reply.header("X-Content-Type-Options", "nosniff");
  if (fault.status === 503) reply.header("Retry-After", "1");
  if (!reply.request.raw.complete) reply.header("Connection", "close");
  const body = {
    type: "about:blank",
    title: STATUS_CODES[fault.status],
    status: fault.status,
    detail: fault.message,
  };
  return reply
    .code(fault.status)
    .header("Content-Type", "application/problem+json")
    .send(Buffer.from(JSON.stringify(body)));
}

module.exports = { ...faults, Fault, problem };
