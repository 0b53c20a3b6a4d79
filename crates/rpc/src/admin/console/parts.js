// What pages are made of: elements, numbers, tables and plots.

/**
 * Makes an element. Texts become text nodes: nothing that a peer has sent is ever read as HTML. An
 * attribute that begins with `on` is a listener.
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ""));
  return made;
}

function drawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Numbers of 64 bits are texts in JSON. */
export const number = (value) => Number(value || 0);

export function count(value) {
  return new Intl.NumberFormat("en", { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
}

export function time(microseconds) {
  if (microseconds < 1000) return `${count(microseconds)} µs`;
  if (microseconds < 1e6) return `${count(microseconds / 1000)} ms`;
  if (microseconds < 120e6) return `${count(microseconds / 1e6)} s`;
  return `${count(microseconds / 60e6)} min`;
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${count(value)} ${units[unit]}`;
}

/** The name of a method, with its service in front; functions have none. */
export function name(row) {
  return row.service ? `${row.service}/${row.method}` : row.method;
}

/** A table of rows; a column is a heading, a value of a row, and a class. */
export function table(columns, rows, empty) {
  if (rows.length === 0) return element("p", { class: "faint" }, empty);
  const head = columns.map(([title, , kind]) => element("th", { scope: "col", class: kind }, title));
  const body = rows.map((row) => element("tr", {}, columns.map(([, value, kind]) => element("td", { class: kind }, value(row)))));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)));
}

export function figures(pairs) {
  const figure = ([title, value, kind]) => element("div", { class: "figure" }, element("b", { class: kind }, value), element("span", {}, title));
  return element("div", { class: "figures" }, pairs.map(figure));
}

/** A line of the last values, from zero. */
export function line(title, values, show) {
  const most = Math.max(...values, 1e-9);
  const step = 100 / Math.max(values.length - 1, 1);
  const points = values.map((value, index) => `${index * step},${100 - (95 * value) / most}`).join(" ");
  const now = show(values.at(-1) || 0);
  const svg = drawing("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${now} now, ${show(most)} at most` });
  svg.append(drawing("polyline", { class: "line", points }));
  return element("figure", { class: "plot" }, element("figcaption", {}, element("span", {}, title), element("span", {}, `${now} · most ${show(most)}`)), svg);
}

/** Calls by the time that they took. */
export function histogram(buckets) {
  const most = Math.max(...buckets.map((bucket) => number(bucket.calls)), 1);
  const width = 100 / Math.max(buckets.length, 1);
  const svg = drawing("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": "calls by their time" });
  buckets.forEach((bucket, index) => {
    const height = (95 * number(bucket.calls)) / most;
    const bar = drawing("rect", { class: "bar", x: index * width, y: 100 - height, width: width * 0.85, height });
    const title = drawing("title", {});
    title.textContent = `up to ${time(bucket.upToUs)}: ${count(number(bucket.calls))} calls`;
    bar.append(title);
    svg.append(bar);
  });
  const range = buckets.length ? [time(buckets[0].upToUs), time(buckets.at(-1).upToUs)] : ["", ""];
  return element("figure", { class: "plot" }, svg, element("figcaption", {}, element("span", {}, range[0]), element("span", {}, range[1])));
}

/**
 * Calls by the time that they took, second by second: a column for each look, a row for each step of
 * times, darker with more calls.
 */
export function heatMap(title, columns, steps) {
  const most = Math.max(...columns.flatMap((cells) => [...cells.values()]), 1);
  const rows = columns.flatMap((cells) => [...cells.keys()]);
  const [first, last] = rows.length ? [Math.min(...rows), Math.max(...rows)] : [0, 0];
  const [width, height] = [100 / Math.max(columns.length, 1), 100 / (last - first + 1)];
  const label = rows.length ? `${title}: ${time(steps(first - 1))} to ${time(steps(last))}` : `${title}: no calls yet`;
  const svg = drawing("svg", { class: "heat", viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": label });
  columns.forEach((cells, index) => {
    for (const [row, calls] of cells) {
      // Few calls are seen beside many.
      const opacity = 0.12 + (0.88 * Math.log1p(calls)) / Math.log1p(most);
      const cell = drawing("rect", { class: "bar", x: index * width, y: 100 - (row - first + 1) * height, width, height, opacity });
      const tip = drawing("title", {});
      tip.textContent = `${time(steps(row - 1))} to ${time(steps(row))}: ${count(calls)} calls`;
      cell.append(tip);
      svg.append(cell);
    }
  });
  const range = rows.length ? `${time(steps(first - 1))} below, ${time(steps(last))} above` : "no calls yet";
  return element("figure", { class: "plot" }, element("figcaption", {}, element("span", {}, title), element("span", {}, range)), svg);
}

/** A labelled field of a form. */
export function field(label, input, note) {
  return element("label", { class: "field" }, element("span", {}, label, note && element("small", {}, ` ${note}`)), input);
}

/** JSON for display; text that is none stays as it is. */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
