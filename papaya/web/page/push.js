// Notifications of this device, also while the page is closed (Web Push). The browser subscribes at
// its push service; the server is told where, by WEBPUSH (draft/webpush of IRCv3); and the service
// worker shows what comes. Which account has this device notified is kept in the browser.

import { load, save } from "./settings.js";
import { $ } from "./view.js";

const cap = "draft/webpush";
const script = "worker.js";

/** words say what the state of the notifications is. */
const words = {
  insecure: "Notifications need a page over https.",
  unable:
    "This browser shows no notifications of a page that is closed. " +
    "On an iPhone or iPad, put the page on the home screen first.",
  guest: "Notifications need an account: sign in with a password.",
  server: "This server sends no notifications.",
  denied:
    "The browser blocks notifications of this page. Allow them in its settings for this site.",
  ask: "Off. The browser will ask whether you allow them.",
  off: "Off on this device.",
  wait: "Waiting for the browser and the server …",
  on:
    "On. You are told of mentions and private messages while you use the chat on no device. " +
    "What is said is encrypted on the way.",
};

// Where scripts may not be named by a plain text (trusted types), this is the one that may.
const policy = globalThis.trustedTypes?.createPolicy("papaya-worker", {
  createScriptURL: () => script,
});

let endpoint = ""; // of this device, while it is notified
let id = ""; // the server's name of it

/** isThisDevice says whether the server's name of a device is that of this one. */
export const isThisDevice = (name) => id !== "" && name === id;

/** keyBytes decodes base64url. */
const keyBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) =>
    c.charCodeAt(0),
  );

const same = (a, b) =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

/** remember notes the endpoint of this device; "" is none. */
async function remember(now) {
  endpoint = now;
  id = "";
  if (!now) return;
  const sum = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(now),
  );
  id = [...new Uint8Array(sum).slice(0, 6)]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

/** registerWorker registers the service worker. */
export const registerWorker = () =>
  navigator.serviceWorker.register(
    policy ? policy.createScriptURL("") : script,
  );

/** subscription returns that of this device with the server's key, or makes it if asked to. */
async function subscription(key, make) {
  await registerWorker();
  const { pushManager } = await navigator.serviceWorker.ready;
  const wanted = keyBytes(key);
  const there = await pushManager.getSubscription();
  const held = there?.options.applicationServerKey;
  if (there && held && same(new Uint8Array(held), wanted)) return there;
  await there?.unsubscribe(); // it is for another server, or for an older key
  if (!make) return null;
  return pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: wanted,
  });
}

/** pushes connects the settings with the current session. */
export function pushes(current) {
  let told = ""; // a failure, until the next try
  let waiting = false;
  let talk = new URLSearchParams(location.search).get("talk") ?? "";

  const account = () => current()?.settings.account.toLowerCase() ?? "";
  const isOn = () => endpoint !== "" && load("push").account === account();

  function state() {
    const session = current();
    if (!globalThis.isSecureContext) return "insecure";
    if (
      !("serviceWorker" in navigator) ||
      !("PushManager" in globalThis) ||
      !("Notification" in globalThis)
    )
      return "unable";
    if (!account()) return "guest";
    if (!session?.has(cap) || !session.support.vapid) return "server";
    if (Notification.permission === "denied") return "denied";
    if (waiting) return "wait";
    if (isOn()) return "on";
    return Notification.permission === "granted" ? "off" : "ask";
  }

  function show() {
    const now = state();
    $("push").checked = now === "on" || now === "wait";
    $("push").disabled = !["ask", "off", "on"].includes(now);
    $("push-why").textContent = told || words[now];
  }

  /** register tells the server of this device, or renews it there. */
  function register(made) {
    const { p256dh, auth } = made.toJSON().keys;
    const keys = `p256dh=${p256dh};auth=${auth}`;
    current()?.send("WEBPUSH", "REGISTER", made.endpoint, keys);
  }

  async function turnOn() {
    told = "";
    waiting = true;
    show();
    try {
      if ((await Notification.requestPermission()) !== "granted") return;
      const made = await subscription(current().support.vapid, true);
      await remember(made.endpoint);
      register(made);
      return; // answered goes on
    } catch (error) {
      told = `The browser's push service cannot be used: ${error.message}`;
    } finally {
      if (!endpoint) waiting = false;
      show();
    }
  }

  /** turnOff ends it at the server and in the browser. */
  async function turnOff() {
    told = "";
    if (endpoint) current()?.send("WEBPUSH", "UNREGISTER", endpoint);
    save("push", {});
    await remember("");
    show();
    const at = await navigator.serviceWorker?.getRegistration();
    await (await at?.pushManager?.getSubscription())?.unsubscribe();
  }

  /** go leads to a room or conversation that a notification was of. */
  function go(where) {
    const session = current();
    if (!session || !where) return;
    const channel = session.isChannel(where);
    const room = session.find(where) ?? (channel ? null : session.open(where));
    if (!room) return;
    if (!channel) session.catchUp(room);
    session.look(room);
  }

  $("push").addEventListener("change", () =>
    $("push").checked ? turnOn() : turnOff(),
  );
  $("settings-button").addEventListener("click", show);
  // whoever signs out is not notified here any more; the server is told before the QUIT
  $("sign-out").addEventListener(
    "click",
    () => {
      if (isOn()) turnOff();
    },
    { capture: true },
  );
  navigator.serviceWorker?.addEventListener("message", ({ data }) =>
    go(String(data?.go ?? "")),
  );

  return {
    /** ready renews the subscription of a device whose account is signed in again. */
    async ready() {
      waiting = false; // an answer may have been lost with the last connection
      go(talk);
      talk = "";
      const mine = load("push").account;
      if (!mine || mine !== account() || !["off", "on"].includes(state()))
        return;
      try {
        const made = await subscription(current().support.vapid, true);
        await remember(made.endpoint);
        register(made);
      } catch {
        await remember(""); // the push service cannot be reached: the settings say that it is off
      }
      show();
    },

    /** answered takes the server's answer to WEBPUSH. why is empty if it was done. */
    answered(verb, where, why) {
      if (verb !== "REGISTER") return;
      const asked = waiting;
      waiting = false;
      if (why) told = `The server does not notify this device: ${why}`;
      else if (where === endpoint) save("push", { account: account() });
      if (why && asked) turnedAway();
      else show();
    },

    /** renamed keeps the device of an account that has another name. */
    renamed(name) {
      if (isOn()) save("push", { account: name.toLowerCase() });
    },
  };

  async function turnedAway() {
    save("push", {});
    await remember("");
    show();
  }
}
