// Random lists, spans and screens. The function returns what was wrong with the span that is drawn,
// or "", how often nothing of the span before was on the screen, and how often it covered it.
(seed, steps) =>
  import("./span.js").then(({ around, covers, total }) => {
    let state = seed;
    const random = (n) => {
      // xorshift32 (Marsaglia 2003)
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % n;
    };
    const done = { jumps: 0, covered: 0 };
    /** sum adds up what total should. */
    const sum = (list) => list.reduce((all, h) => all + h, 0);

    function wrong() {
      const heights = Array.from({ length: random(300) }, () => 1 + random(90));
      const n = heights.length;
      const all = sum(heights);
      const screen = 50 + random(400);
      const first = random(n + 1);
      const end = first + random(n + 1 - first);
      // the space above may be wrong, until the scrolling ends
      const above = sum(heights.slice(0, first)) + random(300) - 150;
      const begin = above - sum(heights.slice(0, first)); // of the list
      const top =
        begin + Math.max(0, random(Math.max(1, Math.ceil(all - screen))));
      const old = { first, end, above };
      const span = around(heights, old, top, screen);
      const at = (i) => begin + sum(heights.slice(0, i));
      const shown = JSON.stringify({ heights, old, top, screen, span });

      if (total(heights, end, first) !== -sum(heights.slice(first, end)))
        return `total: ${shown}`;
      if (span.first < 0 || span.end > n || span.first > span.end)
        return `no rows: ${shown}`;
      if (span.above !== at(span.first)) return `moved: ${shown}`;
      if (!covers(heights, span, top, screen, 2)) return `too few: ${shown}`;
      const less = [
        { ...span, first: span.first + 1, above: at(span.first + 1) },
        { ...span, end: span.end - 1 },
      ];
      for (const [i, part] of less.entries()) {
        // the row at this end is beyond what is to be drawn
        const far =
          i === 0
            ? part.above <= top - 2 * screen
            : at(part.end) >= top + 3 * screen;
        if (span.first < span.end && far) return `too many: ${shown}`;
      }
      const seen =
        (first === 0 || above <= top - screen) &&
        (end === n || at(end) >= top + 2 * screen);
      if (covers(heights, old, top, screen) !== seen) return `covers: ${shown}`;
      if (seen) done.covered++;
      if (at(end) < top || above > top + screen) done.jumps++;
      return "";
    }

    for (let step = 0; step < steps; step++) {
      const bad = wrong();
      if (bad) return { bad, ...done };
    }
    return { bad: "", ...done };
  });
