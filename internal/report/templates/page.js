// The interactive parts of the page: choose a theme, choose two sources, zoom into CPU over time.
// Without this script all verdicts, figures and tables are there.
(function () {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Themes. A page opened as a file may have no storage: then the choice lasts as
  // long as the page.
  const themes = ["system", "light", "dark"];
  const button = $("theme");
  let theme = "system";
  try {
    theme = localStorage.getItem("theme") || "system";
  } catch (e) {
    /* no storage */
  }
  function paint() {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = "theme: " + theme;
    drawZoom();
  }
  button.hidden = false;
  button.addEventListener("click", function () {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.setItem("theme", theme);
    } catch (e) {
      /* no storage */
    }
    paint();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener(
    "change",
    drawZoom,
  );

  // Sources.
  for (const side of ["left", "right"]) {
    const select = $(side),
      place = $(side + "-source");
    if (!select) continue;
    const heading = place.querySelector("h3").textContent;
    for (const o of select.options)
      if (o.textContent === heading) select.value = o.value;
    select.hidden = false;
    select.addEventListener("change", function () {
      place.replaceChildren($(select.value).content.cloneNode(true));
    });
  }

  // CPU over time.
  const lines = JSON.parse($("samples").textContent) || [];
  const chooser = $("chooser");
  let plot = null,
    width = 0;
  function color(name) {
    const probe = document.createElement("span");
    probe.style.color = "var(" + name + ")";
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  }
  function fill(select, values) {
    const old = select.value;
    select.replaceChildren(
      ...values.map(function (v) {
        return new Option(v, v);
      }),
    );
    if (values.includes(old)) select.value = old;
  }
  function models() {
    return lines
      .filter(function (l) {
        return l.where === $("where").value;
      })
      .map(function (l) {
        return l.model;
      });
  }
  function drawZoom() {
    if (!chooser || chooser.hidden) return;
    const line = lines.find(function (l) {
      return l.where === $("where").value && l.model === $("model").value;
    });
    if (!line) return;
    if (plot) plot.destroy();
    const ink = color("--ink"),
      rule = color("--rule"),
      shade = color("--accept");
    const data = uPlot.join(
      line.tracks.map(function (t) {
        return [
          t.t.map(function (v) {
            return v / 1000;
          }),
          t.c.map(function (v) {
            return v / 10;
          }),
        ];
      }),
    );
    const face =
      '12px ui-sans-serif, system-ui, "Helvetica Neue", Arial, sans-serif';
    const axis = {
      stroke: ink,
      font: face,
      labelFont: face,
      grid: { stroke: rule, width: 1 },
      ticks: { stroke: rule, width: 1 },
    };
    const first = line.tracks[0];
    width = chooser.clientWidth;
    plot = new uPlot(
      {
        width: width,
        height: 300,
        scales: {
          x: { time: false },
          y: {
            range: function (u, low, high) {
              return [0, (high || 1) * 1.05];
            },
          },
        },
        axes: [
          Object.assign({ label: "seconds since the server was ready" }, axis),
          Object.assign({ label: "server CPU, % of a core", size: 56 }, axis),
        ],
        series: [
          {
            label: "seconds",
            value: function (u, v) {
              return v == null ? "–" : v.toFixed(2);
            },
          },
        ].concat(
          line.tracks.map(function (t, i) {
            return {
              label: "round " + t.round,
              stroke: color("--h" + ((i % 9) + 1)),
              width: 1.5,
              spanGaps: true,
              points: { show: false },
              value: function (u, v) {
                return v == null ? "–" : v.toFixed(1) + " %";
              },
            };
          }),
        ),
        hooks: {
          drawClear: [
            function (u) {
              const from = u.valToPos(first.open / 1000, "x", true),
                to = u.valToPos(first.close / 1000, "x", true);
              const left = Math.max(from, u.bbox.left),
                right = Math.min(to, u.bbox.left + u.bbox.width);
              u.ctx.fillStyle = shade;
              if (right > left)
                u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
            },
          ],
        },
      },
      data,
      $("zoom"),
    );
  }
  if (chooser && lines.length > 0) {
    const shown = +chooser.dataset.first || 0;
    fill(
      $("where"),
      Array.from(
        new Set(
          lines.map(function (l) {
            return l.where;
          }),
        ),
      ),
    );
    $("where").value = lines[shown].where;
    fill($("model"), models());
    $("model").value = lines[shown].model;
    $("where").addEventListener("change", function () {
      fill($("model"), models());
      drawZoom();
    });
    $("model").addEventListener("change", drawZoom);
    chooser.hidden = false;
    $("still").style.display = "none";
    addEventListener("resize", function () {
      if (chooser.clientWidth !== width) drawZoom();
    });
  }
  paint();
})();
