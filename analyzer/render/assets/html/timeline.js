// The lanes over time, on a canvas: long intervals one by one, short ones as slices.
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e01', '#7b5aa6'];
const ROW = 17;
const AXIS = 22;
const GAP = 7;
const CURVE_ROW = 30;
// Above the first row of a lane: where the critical path runs.
const STRIP = 5;
const FONT = '11px system-ui, "DejaVu Sans", sans-serif';
const WAITS = ['launch_delay', 'queue', 'sync_wait', 'gap'];

function bytes(text) {
  const plain = atob(text);
  const out = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i++) out[i] = plain.charCodeAt(i);
  return out;
}
// Numbers of few bytes, one after the other.
function numbers(text) {
  const data = bytes(text);
  let at = 0;
  const next = () => {
    let [value, by] = [0, 1];
    for (;;) {
      const byte = data[at++];
      value += (byte & 127) * by;
      if (byte < 128) return value;
      by *= 128;
    }
  };
  return { next, isLeft: () => at < data.length };
}
function spansOf(row, from, detailed) {
  const { next } = numbers(row.spans);
  const [start, end, name] = [new Float64Array(row.n), new Float64Array(row.n), new Uint32Array(row.n)];
  const detail = detailed ? new Uint32Array(row.n) : null;
  let reached = from;
  for (let i = 0; i < row.n; i++) {
    start[i] = reached + next();
    end[i] = reached = start[i] + next();
    name[i] = next();
    if (detail) detail[i] = next();
  }
  return { start, end, name, detail };
}

// A curve as a row without intervals.
function curveRow(curve, base) {
  const { next, isLeft } = numbers(curve.times);
  const [times, none] = [[], new Float64Array(0)];
  for (let at = 0; isLeft();) {
    const far = next();
    times.push(at += far % 2 === 0 ? far / 2 : -(far + 1) / 2);
  }
  const values = new Float32Array(bytes(curve.values).buffer);
  const [high, low] = values.reduce(([high, low], value) => [Math.max(high, value), Math.min(low, value)], [0, 0]);
  return { lane: curve.name, first: true, base, depth: 0, height: CURVE_ROW, slices: none, start: none, end: none, name: none, curve: { ...curve, times, values, high, low } };
}

class Timeline {
  constructor(data) {
    this.data = data;
    this.box = document.getElementById('lanes');
    this.canvas = document.getElementById('canvas');
    this.range = document.getElementById('range');
    this.from = data.from;
    this.until = data.until;
    this.lit = null;
    this.folded = new Set();
    this.names = new Map(data.names.map((name, at) => [name, at]));
    this.path = new Map((data.path?.lanes ?? []).map(of => [of.lane, spansOf(of, data.from)]));
    this.showsPath = this.path.size > 0;
    let [lane, base] = [null, 0];
    const curves = at => (data.curves ?? []).filter(curve => curve.after === at).map(curve => curveRow(curve, base));
    this.rows = data.rows.flatMap((row, at) => {
      const first = row.lane !== lane;
      lane = row.lane;
      const made = { lane, first, base, depth: row.depth, height: ROW, slices: bytes(row.slices), ...spansOf(row, data.from, true) };
      base += row.n;
      return [made, ...curves(at + 1)];
    });
    this.lay();
    this.picked = new Picked(this);
    this.listen();
    this.size();
  }
  // Gives rows their places; of a folded lane only the outermost one has any.
  lay() {
    let y = AXIS;
    let first = true;
    for (const row of this.rows) {
      if (row.first) y += (first ? 2 : GAP) + (this.path.size > 0 ? STRIP + 1 : 0);
      first = false;
      row.shown = row.first || !this.folded.has(row.lane);
      row.y = y;
      if (row.shown) y += row.height;
    }
    this.height = y + 6;
    document.getElementById('lanes-height').style.height = this.height + 'px';
  }
  fold(lane) {
    if (!this.folded.delete(lane)) this.folded.add(lane);
    this.lay();
    this.size();
  }
  foldAll() {
    const lanes = this.rows.filter(row => row.depth === 1).map(row => row.lane);
    this.folded = this.folded.size > 0 ? new Set() : new Set(lanes);
    this.lay();
    this.size();
  }
  // What is drawn of a name; tooltips have it in full.
  label(at) { return this.data.short[at] ?? this.data.names[at]; }
  knows(name) { return this.names.has(name); }
  get width() { return this.paperWidth ?? this.canvas.clientWidth; }
  get gutter() { return Math.min(150, this.width * 0.26); }
  x(time) { return this.gutter + (time - this.from) / (this.until - this.from) * (this.width - this.gutter); }
  time(x) { return this.from + (x - this.gutter) / (this.width - this.gutter) * (this.until - this.from); }
  size() {
    const seen = Math.min(this.height, Math.max(160, Math.min(innerHeight * 0.7, 560)));
    this.box.style.height = seen + 2 + 'px';
    const density = Math.min(devicePixelRatio || 1, 2);
    this.canvas.style.height = seen + 'px';
    this.canvas.width = Math.round(this.width * density);
    this.canvas.height = Math.round(seen * density);
    this.seen = seen;
    this.density = density;
    this.draw();
  }
  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }
  look(from, until) {
    const whole = this.data.until - this.data.from;
    const span = Math.min(Math.max(until - from, 10), whole);
    const middle = (from + until) / 2;
    this.from = Math.min(Math.max(middle - span / 2, this.data.from), this.data.until - span);
    this.until = this.from + span;
    this.ask();
  }
  zoom(by, at = (this.from + this.until) / 2) {
    this.look(at - (at - this.from) * by, at + (this.until - at) * by);
  }
  move(share) {
    const by = (this.until - this.from) * share;
    const from = Math.min(Math.max(this.from + by, this.data.from), this.data.until - (this.until - this.from));
    this.look(from, from + this.until - this.from);
  }
  all() { this.look(this.data.from, this.data.until); }
  // A place with some of what is around it.
  go(from, until) {
    const around = Math.max((until - from) * 0.6, 50);
    if (until > from) this.picked.part(from, until);
    this.look(from - around, until + around);
    document.getElementById('timeline').scrollIntoView({ block: 'start' });
    this.box.focus({ preventScroll: true });
  }
  // Searches a name; the lanes have the keys then, so that n and N go from match to match.
  find(name) {
    document.getElementById('highlight').value = name;
    this.picked.search(name);
    document.getElementById('timeline').scrollIntoView({ block: 'start' });
    this.box.focus({ preventScroll: true });
  }
  draw() {
    const style = getComputedStyle(document.documentElement);
    const pen = this.canvas.getContext('2d');
    pen.setTransform(this.density, 0, 0, this.density, 0, 0);
    this.drawRows(pen, { rows: this.rows, scroll: this.box.scrollTop, height: this.seen, colour: name => style.getPropertyValue(name).trim() });
    this.range.textContent = this.rangeText();
    // The lanes moved under the pointer.
    if (this.pointer) tip(this.at(this.pointer.x, this.pointer.y), this.pointer.clientX, this.pointer.clientY);
  }
  rangeText() {
    const show = this.shower();
    return `${show(this.from)} to ${show(this.until)} (${duration(this.until - this.from)})`;
  }
  drawRows(pen, { rows, scroll, height, colour }) {
    const [ink, faint, line, page] = ['--ink', '--faint', '--line', '--page'].map(colour);
    const [width, gutter] = [this.width, this.gutter];
    pen.fillStyle = page;
    pen.fillRect(0, 0, width, height);
    pen.font = FONT;
    pen.textBaseline = 'middle';
    pen.save();
    pen.beginPath();
    pen.rect(gutter, 0, width - gutter, height);
    pen.clip();
    const ticks = this.ticks();
    pen.strokeStyle = line;
    for (const at of ticks) { const x = Math.round(this.x(at)) + 0.5; pen.beginPath(); pen.moveTo(x, AXIS - 4); pen.lineTo(x, height); pen.stroke(); }
    for (const row of rows) {
      const y = row.y - scroll;
      if (!row.shown || y < AXIS - row.height || y > height) continue;
      if (row.curve) { this.drawCurve(pen, row, y, colour); continue; }
      this.drawSlices(pen, row, y);
      this.drawSpans(pen, row, y);
    }
    if (this.showsPath) this.drawPath(pen, { rows, scroll, height, colour });
    this.picked.draw(pen, ink, scroll, height);
    pen.fillStyle = page;
    pen.fillRect(gutter, 0, width - gutter, AXIS - 4);
    pen.fillStyle = faint;
    pen.textAlign = 'center';
    const show = this.shower();
    let free = gutter;
    for (const at of ticks) {
      const [x, text] = [this.x(at), show(at)];
      const half = pen.measureText(text).width / 2;
      if (x - half < free || x + half > width) continue;
      pen.fillText(text, x, 10);
      free = x + half + 10;
    }
    pen.restore();
    pen.textAlign = 'left';
    for (const row of rows) {
      const y = row.y - scroll;
      // Where a lane begins, or goes on at the top of a printed page.
      if (!row.first && (row !== rows[0] || rows === this.rows) || y > height) continue;
      const above = this.path.size > 0 ? STRIP + 1 : 0;
      if (y - above > AXIS + 2) { pen.fillStyle = line; pen.fillRect(0, y - 4 - above, width, 1); }
      if (y < AXIS - ROW / 2) continue;
      pen.fillStyle = ink;
      const hides = this.folded.has(row.lane) ? '▸ ' : '';
      pen.fillText(fitted(pen, hides + row.lane, gutter - 10), 5, y + row.height / 2);
    }
  }
  // Enough decimals to tell the ends of what is seen apart.
  shower() {
    const largest = Math.max(Math.abs(this.from), Math.abs(this.until));
    const [by, unit] = largest < 1e3 ? [1, 'ns'] : largest < 1e6 ? [1e3, 'µs'] : largest < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
    const step = (this.until - this.from) / 8 / by;
    const decimals = by === 1 ? 0 : Math.min(Math.max(0, Math.ceil(-Math.log10(step))), Math.round(Math.log10(by)));
    return ns => (ns / by).toFixed(decimals) + ' ' + unit;
  }
  ticks() {
    const step = (this.until - this.from) / Math.max((this.width - this.gutter) / 110, 2);
    const power = 10 ** Math.floor(Math.log10(step));
    const by = Math.max([1, 2, 5, 10].find(m => m * power >= step) * power, 1);
    const out = [];
    for (let at = Math.ceil(this.from / by) * by; at <= this.until && out.length < 60; at += by) out.push(at);
    return out;
  }
  paint(pen, name, alpha) {
    pen.globalAlpha = this.lit && !this.lit.has(name) ? alpha * 0.15 : alpha;
    pen.fillStyle = PALETTE[name % PALETTE.length];
  }
  drawSlices(pen, row, y) {
    const of = this.data.slices;
    if (row.slices.length === 0) return;
    const step = (this.data.until - this.data.from) / of;
    const first = Math.max(0, Math.floor((this.from - this.data.from) / step));
    const last = Math.min(of - 1, Math.ceil((this.until - this.data.from) / step));
    const width = (this.width - this.gutter) / ((this.until - this.from) / step);
    for (let slice = first; slice <= last; slice++) {
      const filled = row.slices[slice * 3];
      if (filled === 0) continue;
      this.paint(pen, row.slices[slice * 3 + 1] | row.slices[slice * 3 + 2] << 8, 0.2 + 0.7 * filled / 255);
      pen.fillRect(this.x(this.data.from + slice * step), y + 1, Math.max(width, 0.7), ROW - 2);
    }
    pen.globalAlpha = 1;
  }
  // The first interval that ends later.
  after(row, time) {
    let [low, high] = [0, row.end.length];
    while (low < high) { const middle = (low + high) >> 1; if (row.end[middle] <= time) low = middle + 1; else high = middle; }
    return low;
  }
  drawSpans(pen, row, y) {
    let drawn = -1;
    for (let i = this.after(row, this.from); i < row.start.length && row.start[i] < this.until; i++) {
      const [x0, x1] = [this.x(row.start[i]), this.x(row.end[i])];
      // What lies in a pixel that is drawn already is not seen.
      if (x1 - drawn < 0.5 && !this.lit) continue;
      const width = Math.max(x1 - x0 - (x1 - x0 > 3 ? 0.5 : 0), 0.8);
      this.paint(pen, row.name[i], 1);
      pen.fillRect(x0, y + 1, width, ROW - 2);
      drawn = x1;
      const left = Math.max(x0, this.gutter);
      const room = Math.min(x1, this.width) - left - 6;
      if (room > 26) {
        pen.fillStyle = ['#0072b2', '#7b5aa6'].includes(PALETTE[row.name[i] % PALETTE.length]) ? '#fff' : '#000';
        pen.fillText(fitted(pen, this.label(row.name[i]), room), left + 3, y + ROW / 2 + 0.5);
      }
    }
    pen.globalAlpha = 1;
  }
  // Where the path of a lane is drawn; what has no lane of its own stands below the axis.
  strip(row) { return row ? row.y - STRIP - 1 : AXIS - STRIP + 1; }
  strips(rows = this.rows) {
    const strips = rows.filter(row => row.first && this.path.has(row.lane)).map(row => [row, this.path.get(row.lane)]);
    return this.path.has('') ? [[null, this.path.get('')], ...strips] : strips;
  }
  // Work in the colour of text, waits in that of warnings, time without records faint; thin lines where the path goes to
  // another lane.
  drawPath(pen, { rows, scroll, height, colour }) {
    const [work, wait, gap] = ['--ink', '--warning', '--faint'].map(colour);
    const fills = this.data.path.kinds.map(kind => kind === 'gap' ? gap : WAITS.includes(kind) ? wait : work);
    const seen = [];
    for (const [row, of] of this.strips(rows)) {
      const y = this.strip(row) - (row ? scroll : 0);
      let drawn = -1;
      for (let i = this.after({ end: of.end }, this.from); i < of.start.length && of.start[i] < this.until; i++) {
        const [x0, x1] = [this.x(of.start[i]), this.x(of.end[i])];
        if (row && seen.length < 2000) seen.push([of.start[i], of.end[i], y]);
        if (x1 - drawn < 0.5 || y < AXIS - STRIP || y > height) continue;
        pen.fillStyle = fills[of.name[i]];
        pen.fillRect(x0, y, Math.max(x1 - x0, 0.8), STRIP);
        drawn = x1;
      }
    }
    if (seen.length >= 2000) return;
    seen.sort((a, b) => a[0] - b[0]);
    pen.fillStyle = work;
    pen.globalAlpha = 0.45;
    for (let i = 1; i < seen.length; i++) {
      const [[, end, from], [start, , to]] = [seen[i - 1], seen[i]];
      if (from === to || this.x(start) - this.x(end) > 3) continue;
      pen.fillRect(Math.round(this.x(start)) - 0.5, Math.min(from, to) + STRIP, 1, Math.abs(from - to) - STRIP);
    }
    pen.globalAlpha = 1;
  }
  togglePath() {
    if (this.path.size === 0) return;
    this.showsPath = !this.showsPath;
    document.getElementById('path-toggle')?.setAttribute('aria-pressed', String(this.showsPath));
    const legend = document.getElementById('path-legend');
    if (legend) legend.hidden = !this.showsPath;
    this.ask();
  }
  onPath(x, y) {
    if (!this.showsPath || x < this.gutter) return null;
    const found = this.strips().find(([row]) => { const top = this.strip(row) - (row ? this.box.scrollTop : 0); return y >= top - 1 && y <= top + STRIP; });
    if (!found) return null;
    const [row, of] = found;
    const near = (this.until - this.from) / (this.width - this.gutter);
    const i = this.after({ end: of.end }, this.time(x) - near);
    if (i >= of.start.length || of.start[i] > this.time(x) + near) return null;
    const many = this.data.path.summed || !row ? ', many pieces together' : '';
    return `critical path: ${this.data.path.kinds[of.name[i]].replace('_', ' ')}${many}\n${duration(of.end[i] - of.start[i])} from ${this.shower()(of.start[i])}${row ? '\n' + row.lane : ''}`;
  }
  rowAt(y) {
    const top = y + this.box.scrollTop;
    return this.rows.find(row => row.shown && top >= row.y && top < row.y + row.height);
  }
  // The number of the interval at a place of the canvas.
  numberAt(x, y) {
    const row = this.rowAt(y);
    if (!row || x < this.gutter || y < AXIS - 4) return null;
    const time = this.time(x);
    const near = (this.until - this.from) / (this.width - this.gutter);
    const i = this.after(row, time - near);
    return i < row.start.length && row.start[i] <= time + near ? row.base + i : null;
  }
  // Steps, filled down to 0.
  drawCurve(pen, row, y, colour) {
    const { times, values, high, low } = row.curve;
    const [top, bottom] = [y + 3, y + row.height - 3];
    const at = value => bottom - (value - low) / (high - low || 1) * (bottom - top);
    pen.fillStyle = colour('--accent');
    pen.globalAlpha = 0.55;
    let { x, until, most, least } = { x: null, until: 0, most: 0, least: 0 };
    const flush = () => { if (x !== null && (most > 0 || least < 0)) pen.fillRect(x, at(Math.max(most, 0)), Math.max(until - x, 0.7), Math.max(at(Math.min(least, 0)) - at(Math.max(most, 0)), 0.7)); };
    for (let i = Math.max(this.changeAt(row.curve, this.from), 0); i < times.length && times[i] < this.until; i++) {
      const [x0, x1] = [this.x(Math.max(times[i], this.from)), this.x(Math.min(times[i + 1] ?? this.endOf(row.curve), this.until))];
      // Changes in one pixel are one column, as high as the highest.
      if (x !== null && x1 - x < 0.7) { until = x1; most = Math.max(most, values[i]); least = Math.min(least, values[i]); continue; }
      flush();
      [x, until, most, least] = [x0, x1, values[i], values[i]];
    }
    flush();
    pen.globalAlpha = 1;
    pen.fillStyle = colour('--faint');
    pen.fillText(high > 0 ? `max ${this.valueText(row.curve, high)}` : `min ${this.valueText(row.curve, low)}`, this.gutter + 4, top + 5);
  }
  // A queue is empty after its last change; of a counter the last reading is the last that is known.
  endOf(curve) { return curve.values.at(-1) === 0 ? this.data.until : curve.times.at(-1); }
  // The change that holds at a time; -1: none yet.
  changeAt(curve, time) {
    let [low, high] = [0, curve.times.length];
    while (low < high) { const middle = (low + high) >> 1; if (curve.times[middle] <= time) low = middle + 1; else high = middle; }
    return low - 1;
  }
  valueText(curve, value) {
    const [unit, ...source] = (curve.unit ?? '').split(', ');
    const shown = /^(bytes|B)(\/s)?$/.test(unit) ? scaled(value, unit.replace('bytes', 'B')) : `${plain(value)} ${unit}`.trim();
    return [shown, ...source].join(', ');
  }
  curveWords(row, time) {
    const at = this.changeAt(row.curve, time);
    if (at < 0 || time > this.endOf(row.curve)) return row.lane;
    const within = row.curve.slice ? `, the highest in ${duration(row.curve.slice)}` : '';
    return `${row.lane}: ${this.valueText(row.curve, row.curve.values[at])}${within}\nat ${this.shower()(time)}, highest ${this.valueText(row.curve, row.curve.high)}`;
  }
  // What stands at a place of the canvas, in words.
  at(x, y) {
    const path = this.onPath(x, y);
    if (path) return path;
    const row = this.rowAt(y);
    if (row && x < this.gutter) return row.lane;
    if (!row || y < AXIS - 4) return null;
    if (row.curve) return this.curveWords(row, this.time(x));
    const number = this.numberAt(x, y);
    if (number !== null) return this.picked.words(number).join('\n');
    const time = this.time(x);
    const slice = Math.floor((time - this.data.from) / (this.data.until - this.data.from) * this.data.slices);
    const filled = row.slices[slice * 3];
    if (!filled) return null;
    const name = this.data.names[row.slices[slice * 3 + 1] | row.slices[slice * 3 + 2] << 8];
    return `many short intervals, most of them ${name}\nfilling ${Math.round(filled / 2.55)} % of ${duration((this.data.until - this.data.from) / this.data.slices)}\n${row.lane}`;
  }
  listen() {
    const all = () => { this.picked.clear(); this.all(); };
    const middle = () => this.pointer ? this.time(Math.max(this.pointer.x, this.gutter)) : undefined;
    const [nearer, farther] = [() => this.zoom(0.5, middle()), () => this.zoom(2, middle())];
    const [left, right] = [() => this.move(-0.2), () => this.move(0.2)];
    const [next, previous] = [() => this.picked.step(1), () => this.picked.step(-1)];
    const search = document.getElementById('highlight');
    const actions = { in: () => this.zoom(0.5), out: () => this.zoom(2), all, next, previous, keys: () => this.picked.keys() };
    for (const button of document.querySelectorAll('.controls [data-do]')) button.onclick = actions[button.dataset.do];
    search.oninput = event => this.picked.search(event.target.value);
    // Both leave the field, and keep the search: the lanes have the keys then.
    search.onkeydown = event => {
      if (event.key !== 'Enter' && event.key !== 'Escape') return;
      event.preventDefault();
      event.stopPropagation();
      this.box.focus({ preventScroll: true });
      if (event.key === 'Enter') (event.shiftKey ? previous : next)();
    };
    const toggle = document.getElementById('path-toggle');
    if (toggle) {
      if (this.path.size > 0) toggle.onclick = () => this.togglePath();
      else { toggle.hidden = true; document.getElementById('path-legend').hidden = true; }
    }
    const keys = {
      w: nearer, '+': nearer, '=': nearer, s: farther, '-': farther, a: left, ArrowLeft: left, d: right, ArrowRight: right, 0: all, Home: all,
      '/': () => { search.focus(); search.select(); }, n: next, N: previous, '.': () => this.picked.beside(1), ',': () => this.picked.beside(-1),
      m: () => this.picked.part(this.from, this.until), f: () => this.foldAll(), c: () => this.togglePath(), Escape: () => this.escape(), '?': actions.keys,
    };
    // The lanes take all keys; their buttons, and the page while nothing has the focus, those of the search and the help.
    const section = document.getElementById('timeline');
    addEventListener('keydown', event => {
      const { target } = event;
      const onLanes = target === this.box;
      if (!onLanes && !(target === document.body || target.tagName === 'BUTTON' && section.contains(target))) return;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      const action = onLanes && event.key === 'Enter' && this.lit ? (event.shiftKey ? previous : next) : keys[event.key];
      if (!action || !onLanes && !['/', 'n', 'N', '?'].includes(event.key)) return;
      event.preventDefault();
      if (!onLanes) this.box.focus();
      action();
    });
    this.box.addEventListener('scroll', () => this.ask());
    this.canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
    }, { passive: false });
    this.canvas.addEventListener('dblclick', event => this.zoom(0.4, this.time(event.offsetX)));
    let held = null;
    this.canvas.addEventListener('pointerdown', event => {
      held = { x: event.offsetX, y: event.offsetY, from: this.from, until: this.until, selects: event.shiftKey, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointerup', event => {
      if (held && !held.moved) this.click(event.offsetX, event.offsetY);
      held = null;
    });
    this.canvas.addEventListener('pointercancel', () => { held = null; });
    this.canvas.addEventListener('pointermove', event => {
      this.pointer = held ? null : { x: event.offsetX, y: event.offsetY, clientX: event.clientX, clientY: event.clientY };
      if (held) {
        held.moved ||= Math.abs(event.offsetX - held.x) > 3;
        if (held.moved && held.selects) {
          const [from, until] = [held.x, event.offsetX].map(x => this.time(Math.max(x, this.gutter))).sort((a, b) => a - b);
          this.picked.part(from, until);
        } else if (held.moved) {
          const by = (held.x - event.offsetX) / (this.width - this.gutter) * (held.until - held.from);
          const from = Math.min(Math.max(held.from + by, this.data.from), this.data.until - (held.until - held.from));
          this.look(from, from + held.until - held.from);
        }
      }
      tip(held ? null : this.at(event.offsetX, event.offsetY), event.clientX, event.clientY);
    });
    this.canvas.addEventListener('pointerleave', () => { this.pointer = null; tip(null); });
    addEventListener('resize', () => this.size());
  }
  // Ends the choice; where there is none, the search.
  escape() {
    if (this.picked.number !== null || this.picked.range) { this.picked.clear(); return; }
    document.getElementById('highlight').value = '';
    this.picked.search('');
  }
  click(x, y) {
    const row = this.rowAt(y);
    if (row?.curve) return;
    if (row && x < this.gutter) this.fold(row.lane);
    else this.picked.pick(this.numberAt(x, y));
  }
}

// The text with its middle left out until it fits.
function fitted(pen, text, room) {
  if (text.length > 400) text = text.slice(0, 200) + text.slice(-200);
  if (pen.measureText(text).width <= room) return text;
  let [fits, wide] = [0, text.length];
  const cut = keep => text.slice(0, Math.ceil(keep / 2)) + '…' + text.slice(text.length - Math.floor(keep / 2));
  while (fits + 1 < wide) {
    const middle = (fits + wide) >> 1;
    if (pen.measureText(cut(middle)).width <= room) fits = middle; else wide = middle;
  }
  return fits === 0 ? '' : cut(fits);
}
