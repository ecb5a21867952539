/* Draws each chart from the table that belongs to it, and again when the table has changed. */
(function () {
  "use strict";
  const drawn = new Map();

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  /* A colour mixed with that of the paper: stacked areas must not shine through each other. */
  function faded(shade, part) {
    const over = parseInt(shade.slice(1), 16), under = parseInt(color("--paper").slice(1), 16);
    const mixed = [16, 8, 0].map(function (bits) {
      return Math.round(((over >> bits) & 255) * part / 100 + ((under >> bits) & 255) * (1 - part / 100));
    });
    return "rgb(" + mixed.join(", ") + ")";
  }

  function read(chart) {
    const table = document.getElementById(chart.dataset.table);
    const rows = table ? Array.from(table.tBodies[0].rows) : [];
    const times = rows.map(function (row) { return Number(row.dataset.time); });
    const columns = Array.from(rows.length ? rows[0].cells : []).slice(2).map(function (_, place) {
      return rows.map(function (row) {
        const value = row.cells[place + 2].dataset.value;
        return value === undefined ? null : Number(value);
      });
    });
    const names = table ? Array.from(table.tHead.rows[0].cells).slice(2).map(function (cell) { return cell.textContent; }) : [];
    return { times: times, columns: columns, names: names };
  }

  function armsOf(chart) {
    const figure = chart.closest("figure");
    return (figure && figure.dataset.arms ? figure.dataset.arms.split(" ") : []).map(Number);
  }

  /* Data as they are drawn: shares are stacked, the topmost first so that it lies behind the others. */
  function data(chart, found) {
    if (chart.dataset.kind === "interval") {
      const [middle, low, high] = found.columns;
      return [found.times, high, low, middle];
    }
    const sums = found.times.map(function () { return 0; });
    const stacked = found.columns.map(function (column) {
      const sum = column.map(function (value, i) { sums[i] += value; return sums[i]; });
      /* A share is drawn back to the point before; the first one has none, and no width. */
      sum[0] = sum[1];
      return sum;
    });
    return [found.times].concat(stacked.reverse());
  }

  function series(chart, found) {
    if (chart.dataset.kind === "interval") {
      const shade = color("--arm-" + ((armsOf(chart)[0] || 0) % 8));
      const edge = { stroke: faded(shade, 45), width: 1, points: { show: false } };
      return [{}, edge, edge, { stroke: shade, width: 2, points: { show: false } }];
    }
    const steps = uPlot.paths.stepped({ align: -1 });
    const shades = found.columns.map(function (_, arm) { return color("--arm-" + (arm % 8)); });
    return [{}].concat(shades.reverse().map(function (shade) {
      return { stroke: shade, fill: faded(shade, 72), width: 1, paths: steps, points: { show: false } };
    }));
  }

  function zeroLine(plot) {
    const y = plot.valToPos(0, "y", true);
    const box = plot.bbox;
    if (y < box.top || y > box.top + box.height) { return; }
    const ink = plot.ctx;
    ink.save();
    ink.strokeStyle = color("--ink");
    ink.lineWidth = devicePixelRatio;
    ink.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ink.beginPath();
    ink.moveTo(box.left, y);
    ink.lineTo(box.left + box.width, y);
    ink.stroke();
    ink.restore();
  }

  /* What the table says at the moment that is pointed at. */
  function readOut(chart, plot) {
    const note = chart.querySelector(".readout");
    const table = document.getElementById(chart.dataset.table);
    const place = plot.cursor.idx;
    if (!note || !table) { return; }
    if (place === null || place === undefined || plot.cursor.left < 0) { note.hidden = true; return; }
    const row = table.tBodies[0].rows[place];
    if (!row) { note.hidden = true; return; }
    const cells = Array.from(row.cells).map(function (cell) { return cell.textContent; });
    const unit = chart.dataset.unit;
    note.textContent = chart.dataset.kind === "interval"
      ? cells[0] + ": " + cells[2] + (row.cells[3].dataset.value === undefined ? " (no interval yet) " : " (" + cells[3] + " to " + cells[4] + ") ") + unit
      : cells[0] + ": " + read(chart).names.map(function (name, i) { return name + " " + cells[i + 2]; }).join(", ");
    note.hidden = false;
  }

  /* Days and hours as the table writes them, in UTC. */
  const TIMES = [
    [31536000, "{YYYY}", null, null, null, null, null, null, 1],
    [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
    [86400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
    [3600, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
    [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
    [1, "{HH}:{mm}:{ss}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  ];

  /* Seconds between ticks: at least one, or ticks would repeat what the one before says. */
  const STEPS = [1, 5, 10, 15, 30].concat(
    [1, 5, 10, 15, 30].map(function (minutes) { return 60 * minutes; }),
    [1, 2, 3, 4, 6, 8, 12].map(function (hours) { return 3600 * hours; }),
    [1, 2, 3, 4, 5, 7, 10, 15, 30, 60, 90, 120, 180, 365, 730, 1825, 3650].map(function (days) { return 86400 * days; }),
  );

  /* Early intervals say little: those that were more than three times as wide as now may leave the picture. */
  const WIDEST = 3;

  function settledRange(plot) {
    const now = plot.data[0].length - 1;
    /* Without an interval yet, the estimates alone are drawn. */
    const [times, high, low] = plot.data[1][now] === null ? [plot.data[0], plot.data[3], plot.data[3]] : plot.data;
    const widest = WIDEST * (high[now] - low[now]);
    let least = 0, most = 0;
    times.forEach(function (_, i) {
      if (high[i] !== null && high[i] - low[i] <= widest) { most = Math.max(most, high[i]); least = Math.min(least, low[i]); }
    });
    const room = 0.1 * (most - least || 1);
    return [least - room, most + room];
  }

  function options(chart, found) {
    const soft = color("--soft"), line = color("--line");
    const isInterval = chart.dataset.kind === "interval";
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, font: "12px system-ui, sans-serif" };
    const unit = chart.dataset.unit;
    const marks = function (plot, values) {
      return values.map(function (value) { return (isInterval && value > 0 ? "+" : "") + String(Number(value.toPrecision(6))).replace("-", "−") + (isInterval ? "" : " %"); });
    };
    return {
      width: Math.max(200, chart.clientWidth), height: 230,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      tzDate: function (seconds) { return uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"); },
      scales: { x: { time: true }, y: { range: isInterval ? settledRange : [0, 100] } },
      axes: [Object.assign({}, axis, { grid: { show: false }, space: 70, incrs: STEPS, values: TIMES }), Object.assign({}, axis, { size: 52, values: marks, label: isInterval && unit ? unit : undefined, labelSize: 16, labelFont: "12px system-ui, sans-serif" })],
      series: series(chart, found),
      bands: isInterval ? [{ series: [1, 2], fill: faded(color("--arm-" + ((armsOf(chart)[0] || 0) % 8)), 16) }] : [],
      hooks: { draw: isInterval ? [zeroLine] : [], setCursor: [function (plot) { readOut(chart, plot); }] },
    };
  }

  function draw(chart) {
    const found = read(chart);
    if (found.times.length < 2) { return; }
    const shape = chart.dataset.kind + found.columns.length + armsOf(chart).join();
    const before = drawn.get(chart);
    if (before && before.shape === shape) {
      before.plot.setData(data(chart, found));
      return;
    }
    if (before) { before.plot.destroy(); }
    chart.replaceChildren();
    const note = document.createElement("div");
    note.className = "readout";
    note.hidden = true;
    chart.append(note);
    const plot = new uPlot(options(chart, found), data(chart, found), chart);
    drawn.set(chart, { plot: plot, shape: shape });
    watcher.observe(chart);
  }

  function drawAll() {
    drawn.forEach(function (kept, chart) {
      if (!chart.isConnected) { kept.plot.destroy(); drawn.delete(chart); watcher.unobserve(chart); }
    });
    document.querySelectorAll(".chart").forEach(draw);
  }

  const watcher = new ResizeObserver(function (entries) {
    entries.forEach(function (entry) {
      const kept = drawn.get(entry.target), width = Math.floor(entry.contentRect.width);
      if (kept && width > 0 && width !== kept.plot.width) { kept.plot.setSize({ width: width, height: 230 }); }
    });
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
    drawn.forEach(function (kept) { kept.plot.destroy(); });
    drawn.clear();
    drawAll();
  });
  document.addEventListener("htmx:afterSettle", drawAll);
  document.addEventListener("htmx:oobAfterSwap", drawAll);
  document.addEventListener("DOMContentLoaded", drawAll);
})();
