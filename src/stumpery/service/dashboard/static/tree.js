// A tree as SVG: a box for each node, its rule above its statistics, children to the right.

import { draw } from "/charts.js";

const [WIDTH, HEIGHT, GAP_X, GAP_Y, LETTERS] = [256, 44, 28, 10, 38];

export function drawTree(box, lines) {
  if (box.matches(":hover")) return; // somebody reads it
  const nodes = placed(lines);
  const depth = Math.max(...nodes.map((node) => node.depth));
  const [width, height] = [(depth + 1) * (WIDTH + GAP_X) - GAP_X, Math.max(...nodes.map((node) => node.y)) + HEIGHT];
  box.replaceChildren();
  const svg = draw(box, "svg", { viewBox: `-1 -1 ${width + 2} ${height + 2}`, width: width + 2, height: height + 2, role: "img" });
  svg.setAttribute("aria-label", `A tree: ${lines.map(({ text }) => text).join("; ")}`);
  for (const node of nodes) {
    const [x, y] = [node.depth * (WIDTH + GAP_X), node.y];
    if (node.parent) {
      const [from, middle] = [x - GAP_X, x - GAP_X / 2];
      const path = `M${from},${node.parent.y + HEIGHT / 2}H${middle}V${y + HEIGHT / 2}H${x}`;
      draw(svg, "path", { d: path, class: "branch" });
    }
    const group = draw(svg, "g", { class: node.isLeaf ? "node leaf" : "node" });
    draw(group, "title", {}).textContent = node.text;
    draw(group, "rect", { x, y, width: WIDTH, height: HEIGHT, rx: 5 });
    draw(group, "text", { x: x + 8, y: y + 18, class: "rule" }).textContent = cut(node.rule || "all events");
    draw(group, "text", { x: x + 8, y: y + 35 }).textContent = cut(node.statistics.replace(/^about /, "≈ ").replace(/ \(.*$/, ""));
  }
}

// The nodes with their heights: leaves one below the other, a parent in the middle of its children.
function placed(lines) {
  const path = [];
  const nodes = lines.map((line) => {
    const node = { ...line, parent: path[line.depth - 1], children: [] };
    node.parent?.children.push(node);
    path.length = line.depth;
    path.push(node);
    return node;
  });
  let next = 0;
  for (const node of nodes.slice().reverse()) {
    node.isLeaf = !node.children.length;
    node.y = node.isLeaf ? (next += 1) * -(HEIGHT + GAP_Y) : (node.children[0].y + node.children.at(-1).y) / 2;
  }
  const top = Math.min(...nodes.map((node) => node.y));
  for (const node of nodes) node.y -= top;
  return nodes;
}

function cut(text) {
  return text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text;
}
