// A WebSocket that is opened again when it is lost: after 1 s, then after twice as long each time,
// at most 30 s. A server that sends nothing for a minute, in spite of a PING, counts as lost.

import { parse } from "./irc.js";

const firstWait = 1000; // ms
const longestWait = 30_000; // ms
const tick = 5000; // ms between checks
const askAfter = 30_000; // ms of silence after which the page sends a PING
const lostAfter = 60_000; // ms of silence after which the connection is lost
const mostUnsent = 1 << 20; // bytes that wait in the browser: with more the connection is stuck

export class Connection {
  /** hooks: opened(), line(parsed), lost(seconds until the next try), now and then. */
  constructor(url, hooks) {
    this.url = url;
    this.hooks = hooks;
    this.wait = firstWait;
    this.decoder = new TextDecoder();
    this.onOnline = () => this.hurry();
    globalThis.addEventListener("online", this.onOnline);
  }

  open() {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.url, ["text.ircv3.net"]);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.heard = Date.now();
    socket.onopen = () => {
      this.heard = Date.now();
      this.hooks.opened();
    };
    socket.onmessage = ({ data }) => {
      this.heard = Date.now();
      const text = typeof data === "string" ? data : this.decoder.decode(data);
      for (const line of text.split(/\r?\n/)) {
        if (this.socket !== socket) return;
        this.hooks.line(parse(line));
      }
    };
    socket.onclose = () => this.lose();
    clearInterval(this.clock);
    this.clock = setInterval(() => this.watch(), tick);
  }

  watch() {
    const silent = Date.now() - this.heard;
    if (silent > lostAfter || (this.socket?.bufferedAmount ?? 0) > mostUnsent)
      this.lose();
    else if (silent > askAfter) this.send("PING :are you there");
  }

  send(line) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(line);
  }

  /** steady says that all is well: the next loss is followed by a short wait again. */
  steady() {
    this.wait = firstWait;
  }

  lose() {
    this.drop();
    // the clients of a restarted server must not all connect at once
    const wait = this.wait * (0.8 + Math.random() * 0.4);
    this.wait = Math.min(this.wait * 2, longestWait);
    this.timer = setTimeout(() => this.open(), wait);
    this.hooks.lost(Math.ceil(wait / 1000));
  }

  /** hurry tries at once if a try is due later: the network is back, or the user looks. */
  hurry() {
    if (!this.socket && this.timer) this.open();
  }

  drop() {
    clearInterval(this.clock);
    clearTimeout(this.timer);
    const { socket } = this;
    this.socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  /** reopen takes a new connection in the place of this one. */
  reopen() {
    this.drop();
    this.open();
  }

  /** close ends it for good. */
  close() {
    this.drop();
    this.timer = null;
    globalThis.removeEventListener("online", this.onOnline);
  }
}
