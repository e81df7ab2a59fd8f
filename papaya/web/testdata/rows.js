// Random messages, whose clock is set back now and then. The function returns what was wrong with
// their rows, or "", and how many lines of days and how often "New" were among them.
(seed, steps) =>
  import("./rows.js").then(({ isAlone, isRule, rowsOf }) => {
    let state = seed;
    const random = (n) => {
      // xorshift32 (Marsaglia 2003)
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % n;
    };
    const kinds = "message message message action notice event unseen deleted";
    const done = { days: 0, fresh: 0 };
    const day = (time) => new Date(time).toDateString();

    function wrong() {
      let time = Date.parse("2026-03-27T12:00:00Z"); // before a change to summer time
      const messages = Array.from({ length: random(60) }, (_, i) => {
        time += random(4) === 0 ? random(30 * 3_600_000) : random(400_000);
        if (random(20) === 0) time -= 2 * 86_400_000;
        const kind = kinds.split(" ")[random(8)];
        const own = random(3) === 0;
        return { kind, time, own, nick: `n${random(2)}`, text: `${i}` };
      });
      const quiet = random(2) === 0;
      const unreadFrom = random(2) * (messages[random(60)]?.time ?? 0);
      const rows = rowsOf(messages, { quiet, unreadFrom });
      const shown = messages.filter(
        (m) => m.kind !== "unseen" && !(quiet && m.kind === "event"),
      );
      const said = rows.filter((row) => !isRule(row));
      if (said.length !== shown.length || said.some((m, i) => m !== shown[i]))
        return "not the messages";
      if (rows.some(({ height }) => !(height > 0))) return "no height";
      if (
        new Set(rows.filter(isRule).map(({ key }) => key)).size <
        rows.length - said.length
      )
        return "two lines with one key";
      const first = shown.find(
        (m) =>
          m.time > unreadFrom && !m.own && /message|action|notice/.test(m.kind),
      );
      const wantNew = unreadFrom > 0 ? first : undefined;
      for (const [at, row] of rows.entries()) {
        const m = isRule(row) ? undefined : row;
        if (!m) continue;
        const before = said[said.indexOf(m) - 1];
        const want = [];
        if (!before || day(before.time) !== day(m.time)) want.push("day");
        if (m === wantNew) want.push("new");
        const got = [];
        for (let i = at - 1; i >= 0 && isRule(rows[i]); i--)
          got.unshift(rows[i].kind);
        if (`${got}` !== `${want}`) return `${got} instead of ${want}`;
        if (want.includes("new")) done.fresh++;
        if (want.includes("day")) done.days++;
        const alone =
          want.length > 0 ||
          `${m.kind} ${before.kind}` !== "message message" ||
          before.nick !== m.nick ||
          m.time - before.time > 300_000;
        if (isAlone(m, rows[at - 1]) !== alone) return `alone: not ${alone}`;
      }
      return "";
    }

    for (let step = 0; step < steps; step++) {
      const bad = wrong();
      if (bad) return { bad: `list ${step}: ${bad}`, ...done };
    }
    return { bad: "", ...done };
  });
