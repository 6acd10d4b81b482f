// A reader's choice on the timeline: matches of a search, one interval with what led to it, a part of the time.
const KEYS = [
  ['w s or + −', 'zoom in, out (also Ctrl and wheel, double click)'], ['a d or ← →', 'move (also drag)'], ['0', 'show all, choose nothing'],
  ['click', 'choose an interval: what led to it, and what it led to'], [', .', 'the interval before, after on its row'],
  ['/', 'search'], ['n N', 'next, previous match (also Enter, Shift and Enter)'], ['Shift and drag', 'sums of a part of the time'],
  ['m', 'sums of what is seen'], ['f', 'fold all lanes to a row (click on a name: one lane)'], ['c', 'critical path'], ['Escape', 'leave the search field; choose nothing; end the search'], ['?', 'these keys'],
];
// Arrows of matches at most, rows of sums, and neighbours told by name.
const [MAX_ARROWS, MAX_SUMS, MAX_NEIGHBOURS] = [150, 12, 6];

class Picked {
  constructor(timeline) {
    this.timeline = timeline;
    this.panel = document.getElementById('picked');
    this.found = document.getElementById('found');
    this.matches = [];
    this.number = null;
    this.range = null;
    [this.causes, this.effects] = [new Map(), new Map()];
    const { next, isLeft } = numbers(timeline.data.links);
    const note = (map, key, value) => { const of = map.get(key); if (of) of.push(value); else map.set(key, [value]); };
    for (let from = 0; isLeft();) {
      from += next();
      const far = next();
      const to = from + (far % 2 === 0 ? far / 2 : -(far + 1) / 2);
      note(this.effects, from, to);
      note(this.causes, to, from);
    }
  }
  // Row and place in it of an interval.
  place(number) {
    const rows = this.timeline.rows;
    let [low, high] = [0, rows.length - 1];
    while (low < high) { const middle = (low + high + 1) >> 1; if (rows[middle].base <= number) low = middle; else high = middle - 1; }
    // Rows without intervals share the number of the next.
    return { row: rows[low], i: number - rows[low].base };
  }
  name(number) { const { row, i } = this.place(number); return this.timeline.label(row.name[i]); }
  words(number) {
    const { row, i } = this.place(number);
    const { names, categories, details } = this.timeline.data;
    const causes = this.causes.get(number) ?? [];
    return [
      names[row.name[i]],
      `${duration(row.end[i] - row.start[i])} from ${this.timeline.shower()(row.start[i])}`,
      row.lane,
      categories[row.name[i]] && `category ${categories[row.name[i]]}`,
      details.length > 0 && details[row.detail[i]],
      causes.length > 0 && `after ${this.name(causes[0])}${causes.length > 1 ? ` and ${causes.length - 1} more` : ''}`,
    ].filter(Boolean);
  }

  search(needle) {
    const { data, rows } = this.timeline;
    const text = needle.trim().toLowerCase();
    const lit = this.timeline.lit = text ? new Set(data.names.flatMap((name, at) => `${name}\n${data.short[at] ?? ''}`.toLowerCase().includes(text) ? [at] : [])) : null;
    this.matches = [];
    let spent = 0;
    if (lit) for (const row of rows) for (let i = 0; i < row.start.length; i++) if (lit.has(row.name[i])) { this.matches.push([row.start[i], row.base + i]); spent += row.end[i] - row.start[i]; }
    this.matches.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    this.at = -1;
    const beyond = data.longer ? ' of those drawn one by one' : '';
    this.found.textContent = !lit ? '' : this.matches.length === 0 ? `none${beyond}` : `${integer(String(this.matches.length))}${beyond}, ${duration(spent)}`;
    this.timeline.ask();
  }
  step(by) {
    const count = this.matches.length;
    if (count === 0) return;
    this.at = this.at < 0 && by < 0 ? count - 1 : (this.at + by + count) % count;
    this.pick(this.matches[this.at][1], true);
    this.found.textContent = `${integer(String(this.at + 1))} of ${integer(String(count))}`;
  }
  // The neighbour of the chosen interval on its row.
  beside(by) {
    if (this.number === null) return;
    const { row, i } = this.place(this.number);
    if (row.start[i + by] !== undefined) this.pick(this.number + by, true);
  }
  pick(number, bring = false) {
    if (number === null) { this.clear(); return; }
    [this.number, this.range] = [number, null];
    if (bring) this.bring();
    this.tell();
    this.timeline.ask();
  }
  // Where the chosen one is not seen, or too narrow, the time around it is.
  bring() {
    const { timeline } = this;
    const { row, i } = this.place(this.number);
    if (!row.shown) timeline.fold(row.lane);
    const [from, until] = [row.start[i], row.end[i]];
    const wide = (until - from) / (timeline.until - timeline.from) * timeline.width;
    if (wide < 4 || wide > timeline.width * 0.9) timeline.look(from - (until - from) * 6 - 500, until + (until - from) * 6 + 500);
    else if (from < timeline.from || until > timeline.until) timeline.look((from + until - timeline.until + timeline.from) / 2, (from + until + timeline.until - timeline.from) / 2);
    const top = row.y - timeline.box.scrollTop;
    if (top < AXIS + ROW || top > timeline.seen - 2 * ROW) timeline.box.scrollTop = row.y - timeline.seen / 2;
  }
  part(from, until) {
    [this.number, this.range] = [null, [from, until]];
    this.tell();
    this.timeline.ask();
  }
  clear() {
    [this.number, this.range] = [null, null];
    this.tell();
    this.timeline.ask();
  }

  tell() {
    this.panel.replaceChildren();
    if (this.number !== null) this.tellOne();
    else if (this.range) this.tellPart();
  }
  tellOne() {
    const [name, ...words] = this.words(this.number);
    const { row, i } = this.place(this.number);
    const others = (title, numbers) => {
      if (!numbers) return [];
      const button = number => make('button', { type: 'button', className: 'neighbour', textContent: this.name(number), onclick: () => this.pick(number, true) });
      const more = numbers.length > MAX_NEIGHBOURS ? ` and ${integer(String(numbers.length - MAX_NEIGHBOURS))} more` : '';
      return [make('p', {}, title + ' ', ...numbers.slice(0, MAX_NEIGHBOURS).flatMap(number => [button(number), ' ']), more)];
    };
    const told = words.filter(word => !word.startsWith('after '));
    const zoom = make('button', { type: 'button', className: 'place', textContent: 'zoom to it', onclick: () => this.timeline.look(row.start[i] - (row.end[i] - row.start[i]) / 4, row.end[i] + (row.end[i] - row.start[i]) / 4) });
    this.panel.append(make('p', {}, make('b', { textContent: name }), ' ', zoom), make('p', { className: 'note', textContent: told.join(' · ') }),
      ...others('after', this.causes.get(this.number)), ...others('led to', this.effects.get(this.number)));
  }
  // Time by lane and by the name of what was innermost: each instant of a lane counts once.
  sums(from, until) {
    const { timeline } = this;
    const [lanes, names] = [new Map(), new Map()];
    for (const row of timeline.rows) {
      const edges = lanes.get(row.lane) ?? [];
      lanes.set(row.lane, edges);
      for (let i = timeline.after(row, from); i < row.start.length && row.start[i] < until; i++) {
        const of = names.get(row.name[i]) ?? { spent: 0, count: 0 };
        names.set(row.name[i], of);
        of.count++;
        const [start, end] = [Math.max(row.start[i], from), Math.min(row.end[i], until)];
        if (end > start) edges.push([start, 1, row.depth, row.name[i]], [end, 0, row.depth, row.name[i]]);
      }
    }
    const swept = edges => {
      let [busy, last, top] = [0, from, -1];
      const open = [];
      // Where one ends and another begins on its row, the end comes first.
      for (const [time, begins, depth, name] of edges.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
        if (top >= 0) { busy += time - last; names.get(open[top]).spent += time - last; }
        last = time;
        open[depth] = begins ? name : undefined;
        top = Math.max(top, depth);
        while (top >= 0 && open[top] === undefined) top--;
      }
      return busy;
    };
    const byLane = [...lanes].map(([lane, edges]) => [lane, swept(edges)]).filter(of => of[1] > 0);
    const byName = [...names].map(([name, of]) => [timeline.label(name), of.spent, of.count]).sort((a, b) => b[1] - a[1]);
    return { byLane, byName };
  }
  tellPart() {
    const { timeline } = this;
    const [from, until] = this.range;
    const { byLane, byName } = this.sums(from, until);
    const table = (heads, rows, show) => {
      const body = rows.slice(0, MAX_SUMS).map(row => make('tr', {}, ...show(row).map((cell, at) => make('td', { className: at ? 'r' : '', textContent: cell }))));
      const more = rows.length > MAX_SUMS ? [make('tr', {}, make('td', { textContent: `… and ${integer(String(rows.length - MAX_SUMS))} more` }))] : [];
      return make('div', { className: 'scroll', tabIndex: 0 }, make('table', {}, make('thead', {}, make('tr', {}, ...heads.map((head, at) => make('th', { className: at ? 'r' : '', textContent: head })))), make('tbody', {}, ...body, ...more)));
    };
    const show = timeline.shower();
    const zoom = make('button', { type: 'button', className: 'place', textContent: 'zoom to it', onclick: () => timeline.look(from, until) });
    const beyond = timeline.data.longer ? `, of intervals longer than ${duration(timeline.data.longer)}` : '';
    this.panel.append(make('p', {}, make('b', { textContent: `${show(from)} to ${show(until)}: ${duration(until - from)}` }), beyond, ' ', zoom), make('div', { className: 'sums' },
      table(['lane', 'busy', 'share'], byLane, ([lane, spent]) => [lane, duration(spent), percent(spent / (until - from))]),
      table(['name', 'self', 'intervals'], byName, ([name, spent, count]) => [name, duration(spent), integer(String(count))])));
  }
  keys() {
    const dialog = document.getElementById('keys');
    if (!dialog.firstChild) {
      const rows = KEYS.map(([key, what]) => [make('dt', { textContent: key }), make('dd', { textContent: what })]);
      const close = make('button', { type: 'button', textContent: 'close', onclick: () => dialog.close() });
      dialog.append(make('h3', { textContent: 'Keys of the timeline' }), make('dl', {}, ...rows.flat()), close);
    }
    dialog.showModal();
  }

  draw(pen, ink, scroll, height) {
    const { timeline } = this;
    pen.strokeStyle = ink;
    if (this.range) {
      const [x0, x1] = this.range.map(at => timeline.x(at));
      pen.lineWidth = 1.5;
      pen.strokeRect(x0, AXIS - 2, Math.max(x1 - x0, 2), height - AXIS);
    }
    if (this.number !== null) {
      const { row, i } = this.place(this.number);
      const [x0, x1] = [timeline.x(row.start[i]), timeline.x(row.end[i])];
      pen.lineWidth = 2;
      if (row.shown) pen.strokeRect(x0 - 1, row.y - scroll, Math.max(x1 - x0, 1) + 2, ROW);
      const arrows = [...(this.causes.get(this.number) ?? []).map(from => [from, this.number]), ...(this.effects.get(this.number) ?? []).map(to => [this.number, to])];
      for (const [from, to] of arrows.slice(0, MAX_ARROWS)) this.arrow(pen, from, to, scroll);
    } else if (timeline.lit) {
      pen.lineWidth = 1;
      pen.globalAlpha = 0.5;
      let drawn = 0;
      for (const [start, number] of this.matches) {
        if (start > timeline.until || drawn > MAX_ARROWS) break;
        if (start < timeline.from) continue;
        for (const to of this.effects.get(number) ?? []) { this.arrow(pen, number, to, scroll); drawn++; }
        for (const from of this.causes.get(number) ?? []) { this.arrow(pen, from, number, scroll); drawn++; }
      }
      pen.globalAlpha = 1;
    }
    pen.lineWidth = 1;
  }
  // From the end of one, or from the start of the other where that is earlier.
  arrow(pen, from, to, scroll) {
    const { timeline } = this;
    const [a, b] = [this.place(from), this.place(to)];
    const begin = Math.min(a.row.end[a.i], b.row.start[b.i]);
    const [x0, x1] = [timeline.x(Math.max(begin, a.row.start[a.i])), timeline.x(b.row.start[b.i])];
    const [y0, y1] = [a.row.y - scroll + ROW / 2, b.row.y - scroll + ROW / 2];
    const bend = Math.max(Math.abs(x1 - x0) / 2, 12);
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    pen.moveTo(x1 - 6, y1 - 4);
    pen.lineTo(x1, y1);
    pen.lineTo(x1 - 6, y1 + 4);
    pen.stroke();
  }
}
