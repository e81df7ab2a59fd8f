// A server that cannot store the marker of a room at first. The function returns how often the
// marker was sent: at once, within a minute, after it, and on the next connection; and how many
// messages the room then has.
() =>
  Promise.all(
    ["session", "irc", "marker"].map((name) => import(`./${name}.js`)),
  ).then(([{ Session }, { parse }, { sendMarkers }]) => {
    const marker = "MARKREAD #tea timestamp=2026-11-22T11:00:00.000Z";
    const refusal =
      ":x FAIL MARKREAD INTERNAL_ERROR #tea :The log says: no space left on device";
    let now = Date.parse("2026-11-22T12:00:00Z");
    let sent = 0;
    const hooks = new Proxy(
      {},
      {
        get: (_, name) =>
          name === "send"
            ? (line) => {
                sent += line === marker;
              }
            : () => {},
      },
    );
    const s = new Session({ nick: "ann" }, hooks, () => now);
    const hear = (...lines) => lines.forEach((line) => s.receive(parse(line)));

    function connect() {
      const caps = "server-time draft/read-marker";
      s.opened();
      hear(`:x CAP * LS :${caps}`, `:x CAP * ACK :${caps}`, ":x 001 ann :hi");
      hear(":x 422 ann :no", ":ann!a@h JOIN #tea");
    }

    const counts = [];
    function count() {
      sendMarkers(s);
      counts.push(sent);
      hear(refusal);
    }

    connect();
    hear("@time=2026-11-22T11:00:00.000Z :b!b@h PRIVMSG #tea :one");
    s.find("#tea").look();
    count();
    now += 59_000;
    sendMarkers(s);
    counts.push(sent);
    now += 1000;
    count();
    s.lost();
    connect();
    count();
    counts.push(s.find("#tea").messages.length);
    return counts;
  });
