// Sorting, filtering and showing more rows of the tables.
const MORE = 50;
const tables = new Map();
// Cells of the first rows as the program wrote them.
const asWritten = new Map();

// Drawn: fonts of many systems have no such sign.
function crosshair() {
  return vector('svg', { class: 'icon', viewBox: '0 0 16 16', width: 14, height: 14, 'aria-hidden': 'true' },
    vector('circle', { cx: 8, cy: 8, r: 4.5, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 }),
    vector('path', { d: 'M8 0.5V5M8 11v4.5M0.5 8H5M11 8h4.5', stroke: 'currentColor', 'stroke-width': 1.5 }));
}

class Shown {
  constructor(data) {
    this.data = data;
    this.box = document.getElementById(data.id);
    this.table = this.box?.querySelector('table');
    this.show = data.columns.map(shower);
    this.sortedBy = -1;
    this.down = false;
    this.needle = '';
    this.limit = DATA.top;
    this.order = Array.from({ length: data.rows }, (_, row) => row);
  }
  equip() {
    if (!this.table || this.data.rows === 0) return;
    asWritten.set(this.data.id, [...this.table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent)));
    const heads = [...this.table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const button = make('button', { type: 'button', title: 'sort' });
      button.append(...head.childNodes);
      button.onclick = () => this.sort(at);
      head.append(button);
    });
    this.heads = heads;
    if (this.data.rows > 3) {
      this.input = make('input', { type: 'search', placeholder: 'filter', ariaLabel: 'filter the rows' });
      this.input.oninput = () => this.filter(this.input.value);
      this.count = make('span', { className: 'faint' });
      this.more = make('button', { type: 'button' });
      this.more.onclick = () => { this.limit += this.limit < MORE ? MORE - this.limit : this.limit * 3; this.render(); };
      this.tools = make('div', { className: 'tools' }, this.input, this.count, this.more);
      this.table.parentElement.before(this.tools);
    }
    // The rows that came with the page stay until something changes, but for their buttons and bars.
    this.render();
  }
  value(column, row) {
    const value = this.data.columns[column].c[row];
    if (value === null) return null;
    switch (this.data.columns[column].k) {
      case 't': return this.data.columns[column].s?.[value] ?? DATA.texts[value];
      case 'i': return BigInt(value);
      case 'b': return Number(value);
      default: return Number(value);
    }
  }
  sort(column) {
    const text = this.data.columns[column].k === 't';
    // Numbers begin with the most, texts with A.
    this.down = this.sortedBy === column ? !this.down : !text;
    this.sortedBy = column;
    this.heads.forEach((head, at) => at === column ? head.setAttribute('aria-sort', this.down ? 'descending' : 'ascending') : head.removeAttribute('aria-sort'));
    this.arrange();
  }
  filter(needle) {
    this.needle = needle.trim().toLowerCase();
    this.arrange();
  }
  matches(row) {
    return this.data.columns.some((column, at) => {
      const value = column.c[row];
      const full = column.k === 't' && value !== null ? DATA.texts[value].toLowerCase() : '';
      return full.includes(this.needle) || this.show[at](value).toLowerCase().includes(this.needle);
    });
  }
  arrange() {
    let order = Array.from({ length: this.data.rows }, (_, row) => row);
    if (this.needle) order = order.filter(row => this.matches(row));
    if (this.sortedBy >= 0) {
      const sign = this.down ? -1 : 1;
      order.sort((a, b) => {
        const [x, y] = [this.value(this.sortedBy, a), this.value(this.sortedBy, b)];
        // What was not measured comes last either way.
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        return (x < y ? -sign : x > y ? sign : 0) || a - b;
      });
    }
    this.order = order;
    this.render();
  }
  render() {
    const columns = this.data.columns;
    const start = columns.findIndex(column => column.n === 'start_ns');
    const length = columns.findIndex(column => column.n === 'dur_ns' || column.n === 'wall_ns');
    const shown = this.order.slice(0, this.limit);
    const rows = shown.map(row => {
      const line = make('tr');
      columns.forEach((column, at) => {
        const value = column.c[row];
        const text = this.show[at](value);
        const cell = make('td');
        const full = column.k === 't' && value !== null ? DATA.texts[value] : text;
        if (column.k === 't' && text.length > 48) cell.className = 'long';
        if (full !== text && value !== null) cell.title = full;
        if (column.k !== 't' && column.k !== 'b') {
          cell.className = 'r';
          if (value !== null && text !== String(value)) cell.title = String(value);
        }
        if (column.u === '%' && typeof value === 'number' && value > 0 && value <= 1) {
          cell.classList.add('share');
          cell.style.setProperty('--part', (value * 100).toFixed(1) + '%');
        }
        if (column.n === 'name' && column.k === 't' && value !== null && timeline?.knows(full)) {
          const button = make('button', { type: 'button', className: 'name', title: full === text ? 'highlight on the timeline' : full, textContent: text });
          button.onclick = () => timeline.find(full);
          cell.append(button);
        } else {
          cell.textContent = text;
        }
        line.append(cell);
      });
      if (timeline && start >= 0 && length >= 0 && columns[start].c[row] !== null && columns[length].c[row] !== null) {
        const from = Number(columns[start].c[row]);
        const button = make('button', { type: 'button', className: 'place', title: 'show on the timeline', ariaLabel: 'show on the timeline' }, crosshair());
        button.onclick = () => timeline.go(from, from + Number(columns[length].c[row]));
        line.append(make('td', {}, button));
      }
      return line;
    });
    if (rows.length === 0) {
      rows.push(make('tr', {}, make('td', { colSpan: columns.length, className: 'faint', textContent: 'no row matches' })));
    }
    this.table.tBodies[0].replaceChildren(...rows);
    const rest = this.box.querySelector('.rest');
    if (rest) rest.hidden = this.limit !== DATA.top || this.needle !== '' || this.sortedBy >= 0;
    if (!this.input) return;
    // On paper the field is not seen: what it holds stands beside the count.
    this.count.dataset.filter = this.needle ? `, filter “${this.input.value.trim()}”` : '';
    this.tools.classList.toggle('changed', this.limit !== DATA.top || this.needle !== '' || this.sortedBy >= 0);
    const of = this.needle ? `${this.order.length} of ${this.data.rows}` : `${this.data.rows}`;
    this.count.textContent = `${shown.length} of ${of} rows`;
    this.more.hidden = shown.length >= this.order.length;
    this.more.textContent = 'show more';
  }
}

function equipTables() {
  for (const data of DATA.tables) {
    const shown = new Shown(data);
    tables.set(data.id, shown);
    const equip = () => { if (!shown.equipped) { shown.equipped = true; shown.equip(); } };
    // A table that is closed is made when it is opened.
    if (shown.box?.open) equip(); else shown.box?.addEventListener('toggle', equip, { once: true });
  }
}
