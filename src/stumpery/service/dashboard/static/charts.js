// Charts over time as SVG: lines with intervals, and stacked shares.

const SVG = "http://www.w3.org/2000/svg";
const [HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [240, 48, 4, 22, 8];

export function lines(box, series, times, label) {
  const seen = series[0].points.flat().filter((value) => value !== null); // the others are cut to its range
  const [low, high] = rounded(Math.min(0, ...series[0].points.map(([mean]) => mean)), Math.max(0.001, ...seen));
  const place = axes(box, times, low, high, label);
  if (!place) return;
  for (const { points, color, dashed } of series) {
    const known = points.map((point, index) => [index, ...point]).filter((point) => point[1] !== null);
    const band = known.filter((point) => point[2] !== null);
    const up = band.map(([index, , , top]) => `${place.x(index)},${place.y(Math.max(Math.min(top, high), low))}`);
    const down = band.map(([index, , bottom]) => `${place.x(index)},${place.y(Math.min(Math.max(bottom, low), high))}`).reverse();
    draw(place.svg, "polygon", { points: [...up, ...down].join(" "), fill: color, opacity: 0.15 });
    const path = known.map(([index, mean]) => `${place.x(index)},${place.y(Math.min(Math.max(mean, low), high))}`).join(" ");
    const stroke = { points: path, fill: "none", stroke: color, "stroke-width": 2 };
    draw(place.svg, "polyline", dashed ? { ...stroke, "stroke-dasharray": "6 4" } : stroke);
  }
  finish(box, place, series, (index) => series.map(({ name, points }) => `${name} ${number(points[index][0])}`));
}

export function shares(box, series, times) {
  const place = axes(box, times, 0, 1, "share of decisions");
  if (!place) return;
  let below = times.map(() => 0);
  for (const { points, color } of series) {
    const above = below.map((share, index) => share + points[index]);
    const up = above.map((share, index) => `${place.x(index)},${place.y(share)}`);
    const down = below.map((share, index) => `${place.x(index)},${place.y(share)}`).reverse();
    draw(place.svg, "polygon", { points: [...up, ...down].join(" "), fill: color });
    below = above;
  }
  const told = (index) => series.map(({ name, points }) => `${name} ${Math.round(100 * points[index])} %`);
  finish(box, place, series, told);
}

export function number(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

export function clock(time) {
  return new Date(time).toLocaleTimeString("en-GB");
}

function axes(box, times, low, high, label) {
  if (box.matches(":hover")) return null; // somebody reads it
  box.replaceChildren();
  if (times.length < 2) {
    box.textContent = "Nothing to draw yet: it begins when decisions of several seconds have their rewards, or have waited for them in vain.";
    return null;
  }
  const width = Math.max(box.clientWidth, 280);
  const svg = draw(box, "svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
  svg.setAttribute("aria-label", `${label} over time`);
  const span = times.at(-1) - times[0];
  const x = (index) => (LEFT + ((width - LEFT - RIGHT) * (times[index] - times[0])) / span).toFixed(1);
  const y = (value) => (TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / (high - low)).toFixed(1);
  for (let step = 0; step <= 4; step++) {
    const value = low + ((high - low) * step) / 4;
    draw(svg, "line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "grid" });
    draw(svg, "text", { x: LEFT - 6, y: Number(y(value)) + 4, "text-anchor": "end" }).textContent = number(value);
  }
  for (const [index, anchor] of [[0, "start"], [times.length >> 1, "middle"], [times.length - 1, "end"]]) {
    draw(svg, "text", { x: x(index), y: HEIGHT - 5, "text-anchor": anchor }).textContent = clock(times[index]);
  }
  return { svg, x, y, times, width };
}

function finish(box, place, series, told) {
  const legend = document.createElement("ul");
  legend.className = "legend";
  for (const { name, color } of series) {
    const item = legend.appendChild(document.createElement("li"));
    const mark = item.appendChild(document.createElement("i"));
    mark.style.background = color;
    item.append(name);
  }
  const readout = document.createElement("p");
  readout.className = "readout";
  const cursor = draw(place.svg, "line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "grid", visibility: "hidden" });
  place.svg.addEventListener("pointermove", (event) => {
    const frame = place.svg.getBoundingClientRect();
    const at = ((event.clientX - frame.left) / frame.width) * place.width;
    const distances = place.times.map((_, index) => Math.abs(place.x(index) - at));
    const index = distances.indexOf(Math.min(...distances));
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, place.x(index));
    cursor.setAttribute("visibility", "visible");
    readout.textContent = `${clock(place.times[index])}: ${told(index).join(", ")}`;
  });
  box.append(legend, readout);
}

function rounded(low, high) {
  const unit = 10 ** Math.floor(Math.log10(high - low)) / 2;
  return [Math.floor(low / unit) * unit, Math.ceil(high / unit) * unit];
}

export function draw(parent, kind, attributes) {
  const element = parent.appendChild(document.createElementNS(SVG, kind));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
