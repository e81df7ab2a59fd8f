// Staying signed in on this device. The server keeps a token in a cookie that no script can read.
// The page notes in the browser only whose it is, and logs in by SASL EXTERNAL.

import { forgetSeen } from "./seen.js";
import { load, save } from "./settings.js";

/** over is what the server says of a token that has ended. */
export const over = "this device is not signed in any more";

/** basic is the header of a name and a password (RFC 7617), in UTF-8. */
export function basic(account, password) {
  const raw = new TextEncoder().encode(`${account}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...raw))}`;
}

/** staying is the account that this device is signed in to; "" is none. */
export function staying() {
  const { account } = load("stay");
  return typeof account === "string" ? account : "";
}

/** stays notes the account that this device is signed in to; "" is none. */
export function stays(account) {
  save("stay", account ? { account } : {});
  if (!account) forgetSeen();
}

let ending = Promise.resolve(); // a sign-out that is under way

/**
 * begin asks the server to keep this device signed in. It promises why it does not, or "", and
 * whether the password is wrong.
 */
export async function begin(account, password) {
  let answer;
  await ending; // its answer would remove the new cookie
  try {
    answer = await fetch("stay", {
      method: "POST",
      headers: { Authorization: basic(account, password) },
    });
  } catch {
    return { why: "the server cannot be reached", wrong: false };
  }
  if (answer.status === 204) {
    stays(account);
    return { why: "", wrong: false };
  }
  const { error } = await answer.json().catch(() => ({}));
  const why =
    typeof error === "string"
      ? error
      : `the server has answered ${answer.status}`;
  return { why, wrong: answer.status === 401 };
}

/**
 * end signs this device out. If the server cannot be told, the page does it when it is opened
 * again: until then the token is still good.
 */
async function end() {
  save("stay", { ending: true });
  forgetSeen();
  try {
    const answer = await fetch("stay", { method: "DELETE", keepalive: true });
    if (answer.ok) stays("");
  } catch {
    // it stays noted
  }
}

/** endAtSignOut ends it with the button, and what a page before could not end. */
export function endAtSignOut(button) {
  const noted = () => staying() !== "" || load("stay").ending === true;
  button.addEventListener(
    "click",
    () => {
      if (noted()) ending = end();
    },
    { capture: true },
  );
  if (load("stay").ending === true) ending = end();
}
