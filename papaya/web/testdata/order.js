// A server in the page's memory, and a session with it that does everything in any order: it reads
// and writes, scrolls, jumps to old messages and loses its connection, while others talk. Many
// messages have the same time, and the clock is set back now and then. Ids are in no order. The
// function returns what was wrong with the order of the messages, and how much of it all was done.
(seed, steps) =>
  Promise.all(
    ["session", "irc", "past"].map((name) => import(`./${name}.js`)),
  ).then(([{ Session }, { parse }, { newer, seek }]) => {
    let state = seed;
    const random = (n) => {
      // xorshift32 (Marsaglia 2003)
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % n;
    };
    const limit = 5; // messages in a page
    const log = []; // {id, time, nick, text}: text is the place in the log
    const places = new Map(); // id -> place
    const requests = []; // not answered yet
    const done = { missed: 0, pages: 0, joined: 0, parted: 0, own: 0 };
    let settled = 0; // the place in the log up to which the session has caught up
    let now = Date.parse("2026-11-22T12:00:00Z");
    let connected = false;

    const hooks = new Proxy(
      {},
      {
        get: (_, name) =>
          name === "send" ? (line) => requests.push(parse(line)) : () => {},
      },
    );
    const s = new Session({ nick: "ann" }, hooks, () => now);
    const hear = (...lines) => lines.forEach((line) => s.receive(parse(line)));
    const head = ({ id, time, nick }, more = "") =>
      `@msgid=${id};time=${new Date(time).toISOString()}${more} :${nick}!u@h PRIVMSG #tea :`;

    /** say has somebody speak, unless the session misses more than it would fetch. */
    function say(nick, label) {
      if (connected && !s.find("#tea").behind) settled = log.length;
      if (log.length - settled > 18 * limit) return;
      if (random(4) === 0) now += random(3);
      if (random(200) === 0) now -= 60_000;
      const id = `${random(1 << 30).toString(36)}-${log.length}`;
      const m = { id, time: now, nick, text: String(log.length) };
      places.set(id, log.length);
      log.push(m);
      if (!connected) done.missed++;
      else hear(head(m, label ? `;label=${label}` : "") + m.text);
    }

    /** answer answers the oldest request. */
    function answer() {
      const { command, params, tags } = requests.shift();
      if (command === "PRIVMSG") {
        // the echo has another text than what was said: its place
        const label = tags.get("label");
        const room = s.find("#tea");
        for (const m of room.messages)
          if (m.label === label) m.text = String(log.length);
        say("ann", label);
        done.own++;
      }
      if (command !== "CHATHISTORY" || params[0] === "TARGETS") return;
      const [verb, , ref] = params;
      const at = ref === "*" ? log.length : places.get(ref.slice(6));
      const part = {
        LATEST: [log.length - limit, log.length],
        BEFORE: [at - limit, at],
        AFTER: [at + 1, at + 1 + limit],
        AROUND: [at - 2, at + 3],
      }[verb];
      const page = log.slice(Math.max(0, part[0]), Math.max(0, part[1]));
      const apart = s.find("#tea").past;
      const shown = s.find("#tea").messages.length;
      hear(":x BATCH +p chathistory #tea");
      for (const m of page) hear(head(m, ";batch=p") + m.text);
      hear(":x BATCH -p");
      done.pages++;
      if (apart && !s.find("#tea").past) done.joined++;
      if (verb === "BEFORE" && s.find("#tea").messages.length < shown)
        done.parted++;
    }

    function connect() {
      connected = true;
      s.opened();
      const caps =
        "batch message-tags server-time echo-message labeled-response draft/chathistory";
      hear(`:x CAP * LS :${caps}`, `:x CAP * ACK :${caps}`, ":x 001 ann :hi");
      hear(`:x 005 ann CHATHISTORY=${limit} :ok`, ":x 422 ann :no");
      hear(":ann!a@h JOIN #tea");
      // small bounds, so that it reaches them
      Object.assign(s.find("#tea"), { keep: 60, most: 160 });
    }

    const deeds = [
      () => say("bob"),
      () => say("bob"),
      () => say("cid"),
      () => requests.length > 0 && answer(),
      () => requests.length > 0 && answer(),
      () => requests.length > 0 && answer(),
      () => connected && s.say(s.find("#tea"), "mine"),
      () => connected && s.older(s.find("#tea")),
      () => connected && newer(s, s.find("#tea")),
      () => connected && newer(s, s.find("#tea")),
      () => random(8) === 0 && seek(s, s.find("#tea"), log[random(log.length)]),
      () => random(60) === 0 && s.find("#tea").latest(),
      () => (s.find("#tea").reading = random(4) > 0),
      () => hear(`:eve!e@h ${random(2) ? "JOIN" : "PART"} #tea`),
      () => {
        if (random(12) > 0) return;
        if (connected) {
          s.lost();
          requests.length = 0;
          connected = false;
        } else connect();
      },
    ];

    /** wrong is what is wrong with the order of messages, or "". */
    function wrong(messages) {
      const told = messages.filter((m) => m.told).map((m) => Number(m.text));
      const bad = told.findIndex((n, i) => i > 0 && n <= told[i - 1]);
      return bad < 0 ? "" : told.slice(Math.max(0, bad - 3), bad + 3).join(" ");
    }

    for (let i = 0; i < 20; i++) say("bob");
    connect();
    for (let step = 0; step < steps; step++) {
      deeds[random(deeds.length)]();
      const room = s.find("#tea");
      const bad =
        wrong(room.messages) || (room.past && wrong(room.past.messages));
      if (bad) return { bad: `step ${step}: ${bad}`, whole: false, ...done };
      const held = room.messages.length + (room.past?.messages.length ?? 0);
      if (held > 2 * room.most + 200)
        return { bad: `${held} messages are held`, whole: false, ...done };
    }
    // at the end, everything is there
    if (!connected) connect();
    const room = s.find("#tea");
    room.latest();
    Object.assign(room, { keep: Infinity, most: Infinity, reading: false });
    do {
      while (requests.length > 0) answer();
    } while (s.older(room));
    const told = room.messages.filter((m) => m.told);
    const bad = wrong(room.messages);
    return { bad, whole: told.length === log.length, ...done };
  });
