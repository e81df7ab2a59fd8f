// What a test of the list of messages looks at, in globalThis.look. Messages that count have "line
// N" in their texts; what is not such a message may be between them.
() => {
  const scroll = document.querySelector("#scroll");
  const list = document.querySelector("#messages");
  const number = (li) =>
    Number(/\bline (\d+)/.exec(li.querySelector(".text")?.textContent)?.[1]);
  const say = () => scroll.dispatchEvent(new Event("scroll"));
  const soon = () => new Promise((done) => setTimeout(done, 8));
  const frame = () => new Promise((done) => requestAnimationFrame(done));

  /** wrong is what is wrong with what is drawn, or "". */
  function wrong() {
    const rows = [...list.children];
    const { top, bottom } = scroll.getBoundingClientRect();
    const first = rows[0]?.getBoundingClientRect();
    const last = rows.at(-1)?.getBoundingClientRect();
    const place = (li) => Number(li.getAttribute("aria-posinset"));
    look.most = Math.max(look.most, rows.length);
    if (rows.some((li, i) => i > 0 && place(li) !== place(rows[i - 1]) + 1))
      return "rows are missing, or there twice";
    const numbers = rows.map(number);
    const at = numbers.findIndex(
      (n, i) => i > 0 && Math.abs(n - numbers[i - 1] - 1) > 0, // NaN is not
    );
    if (at >= 0) return `line ${numbers[at]} is below line ${numbers[at - 1]}`;
    if (place(rows[0]) > 1 && first.top > top) return "nothing is drawn above";
    const below = parseFloat(list.style.paddingBottom) > 0;
    if (below && last.bottom < bottom) return "nothing is drawn below";
    return "";
  }

  /** seen is the first message that begins on the screen: its number, and where it ends. */
  function seen() {
    const { top } = scroll.getBoundingClientRect();
    for (const li of list.children) {
      const box = li.getBoundingClientRect();
      if (box.top >= top && !Number.isNaN(number(li)))
        return { n: number(li), y: box.bottom - top, id: li.message.id };
    }
    return undefined;
  }

  /** where is how far below the beginning of the screen a message ends, if it is drawn. */
  function where(n) {
    const li = [...list.children].find((x) => number(x) === n);
    const { top } = scroll.getBoundingClientRect();
    return li && li.getBoundingClientRect().bottom - top;
  }

  /** toTop scrolls to the beginning, until all messages are loaded. */
  async function toTop() {
    const whole = () =>
      list.querySelector("[aria-setsize]")?.ariaSetSize !== "-1";
    let moved = 0; // px by which what was on the screen has moved
    while (!whole()) {
      scroll.scrollTop = 0;
      say();
      const before = seen();
      await soon();
      const y = before && where(before.n);
      if (y !== undefined) moved = Math.max(moved, Math.abs(y - before.y));
      const bad = wrong();
      if (bad) return { bad, moved };
    }
    return { bad: "", moved };
  }

  /**
   * walk goes down so many steps of so many screens from a place in thousandths of the room: all
   * messages from the first to the last must come by.
   */
  function walk(thousandths, steps, screens) {
    const found = new Set();
    const all = scroll.scrollHeight - scroll.clientHeight;
    scroll.scrollTop = (all * thousandths) / 1000;
    for (let i = 0; i < steps; i++) {
      say();
      const bad = wrong();
      if (bad) return bad;
      for (const li of list.children)
        if (!Number.isNaN(number(li))) found.add(number(li));
      scroll.scrollTop += screens * scroll.clientHeight;
    }
    const [first, last] = [Math.min(...found), Math.max(...found)];
    for (let n = first; n <= last; n++)
      if (!found.has(n)) return `line ${n} was never drawn`;
    return last - first < steps ? `only lines ${first} to ${last}` : "";
  }

  /** jump sets the bar to so many thousandths, as a hand does, and waits for a frame. */
  async function jump(thousandths) {
    const all = scroll.scrollHeight - scroll.clientHeight;
    scroll.scrollTop = (all * thousandths) / 1000;
    await frame();
    await frame();
    return wrong();
  }

  /** record begins to note how long each frame takes and, if checks, what is wrong in it. */
  function record(checks) {
    const frames = { times: [], bad: "", from: scroll.scrollTop };
    let last = 0;
    const note = (now) => {
      if (look.frames !== frames) return;
      if (last > 0) frames.times.push(now - last);
      last = now;
      if (checks) frames.bad ||= wrong();
      requestAnimationFrame(note);
    };
    look.frames = frames;
    requestAnimationFrame(note);
  }

  /** recorded ends that. */
  function recorded() {
    const { frames } = look;
    look.frames = null;
    return { ...frames, to: scroll.scrollTop };
  }

  globalThis.look = {
    most: 0, // rows that were drawn at once
    frames: null,
    ...{ wrong, seen, where, toTop, walk, jump, record, recorded },
  };
};
