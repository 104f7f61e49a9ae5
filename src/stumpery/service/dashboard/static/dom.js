// Elements of the page.

export const at = (id) => document.getElementById(id);

export function element(kind, text, name) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

// A row of a table; a cell is a text and a class, or an element.
export function row(kind, cells) {
  const made = document.createElement("tr");
  for (const cell of cells) {
    const [content, name] = Array.isArray(cell) ? cell : [cell];
    const box = element(kind, content instanceof Node ? "" : content, name);
    if (content instanceof Node) box.append(content);
    made.append(box);
  }
  return made;
}

// Fill a table, unless somebody is about to press one of its buttons.
export function fill(table, headings, rows) {
  if (!table.matches(":focus-within, :hover")) table.replaceChildren(row("th", headings), ...rows);
}

// A bar of a share from 0 to 1, with its name and value.
export function bar(name, share, value) {
  const row = element("div", "", "bar");
  const meter = document.createElement("meter");
  meter.value = share;
  meter.setAttribute("aria-label", name);
  row.append(Object.assign(element("span", name), { title: name }), meter, element("span", value));
  return row;
}
