// Keeps the page of a public room as the room is. The server answers when the messages are others
// than the page has, so what is changed or removed there is changed or removed here.

const list = document.querySelector("#messages");
const topic = document.querySelector("#topic");
const state = document.querySelector("#state");
const longest = 60; // seconds between two tries

let tag = list.dataset.tag;

/** part makes an element of a text, which never becomes markup. */
function part(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** item makes the row of a message, as the server's page has it. */
function item({ time, from, kind, text, edited }) {
  const row = document.createElement("li");
  row.className = kind;
  const clock = part("time", time.slice(0, 16).replace("T", " "));
  clock.dateTime = time;
  row.append(clock, " ", part("b", from), " ", part("span", text));
  if (edited) row.append(" ", part("i", "(edited)"));
  return row;
}

const isAtEnd = () =>
  innerHeight + scrollY >= document.documentElement.scrollHeight - 40;

const toEnd = () => scrollTo(0, document.documentElement.scrollHeight);

function show(room) {
  const follows = isAtEnd();
  tag = room.tag;
  topic.textContent = room.topic;
  list.replaceChildren(...(room.messages ?? []).map(item));
  document.querySelector("#nothing")?.remove();
  if (follows) toEnd();
}

/** ask asks for what is new; false if the room is not public any more. */
async function ask() {
  const query = `?tag=${encodeURIComponent(tag)}`;
  const answer = await fetch(list.dataset.live + query, { cache: "no-store" });
  if (answer.status === 404) return false;
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  if (answer.status === 200) show(await answer.json());
  state.textContent = "";
  return true;
}

/** seen waits until somebody looks at the page. */
const seen = () =>
  new Promise((resolve) => {
    if (!document.hidden) resolve();
    else document.addEventListener("visibilitychange", resolve, { once: true });
  });

const sleep = (seconds) =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function follow() {
  for (let pause = 1; ;) {
    await seen();
    try {
      if (!(await ask())) break;
      pause = 1;
    } catch {
      state.textContent = "The server cannot be reached. Trying again …";
      await sleep(pause);
      pause = Math.min(2 * pause, longest);
    }
  }
  list.replaceChildren();
  state.textContent = "This room is not public any more.";
}

toEnd();
follow();
