// Lanes over time, on a canvas. Intervals come window by window; the last ones are shown, moved, until newer are there.
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e01', '#7b5aa6', '#8a8d2b'];
const DARK = new Set(['#0072b2', '#7b5aa6', '#d55e01', '#009e73']);
const ROW = 17;
const AXIS = 22;
const GAP = 7;
const MOST_LANES = 200;

// One colour a name, the same in each window and each run.
function colour(name) {
  let hash = 2166136261;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  hash ^= hash >>> 15;
  return PALETTE[(hash >>> 0) % PALETTE.length];
}
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

class Lanes {
  constructor() {
    this.box = get('lanes');
    this.canvas = get('canvas');
    this.run = null;
    this.data = null;
    this.rows = [];
    this.curves = new Curves();
    this.history = [];
    this.listen();
  }
  // Shows a run that is read.
  show(number, run) {
    const isOther = this.run !== run;
    this.number = number;
    this.run = run;
    [this.first, this.last] = run.extent_ns;
    if (isOther) {
      this.data = null;
      this.curves.fetch(number, () => { if (this.run === run) { this.lay(); this.size(); this.fetch(); } });
      this.lay();
    }
    this.from = view.from ?? this.first;
    this.until = view.until ?? this.last;
    this.size();
    this.fetch();
  }
  hide() { this.run = null; this.data = null; this.abort?.abort(); }
  // Gives rows their places: depths of a lane one below the other, and curves below the lanes that they are about.
  lay() {
    let y = AXIS + 2;
    this.rows = [];
    const chosen = view.lanes ?? this.run.lanes.map((_, at) => at);
    for (const lane of chosen) {
      const of = this.run.lanes[lane];
      if (!of || of.depths.length === 0) continue;
      const depths = view.folded.includes(lane) ? 1 : of.depths.length;
      for (let depth = 0; depth < depths; depth++) { this.rows.push({ lane, depth, y, height: ROW, name: of.name }); y += ROW; }
      y += GAP;
      for (const curve of this.curves.after(lane + 1)) { this.rows.push({ curve, depth: 0, y, height: CURVE_ROW, name: curve.name }); y += CURVE_ROW + GAP; }
    }
    this.height = y + 2;
    get('lanes-height').style.height = this.height + 'px';
  }
  get width() { return this.canvas.clientWidth; }
  get gutter() { return Math.min(170, this.width * 0.26); }
  x(time) { return this.gutter + (time - this.from) / (this.until - this.from) * (this.width - this.gutter); }
  time(x) { return this.from + (x - this.gutter) / (this.width - this.gutter) * (this.until - this.from); }
  size() {
    if (!this.run) return;
    const seen = Math.min(this.height, Math.max(180, innerHeight * 0.62));
    this.box.style.height = seen + 2 + 'px';
    const density = Math.min(devicePixelRatio || 1, 2);
    this.canvas.style.height = seen + 'px';
    this.canvas.width = Math.round(this.width * density);
    this.canvas.height = Math.round(seen * density);
    [this.seen, this.density] = [seen, density];
    this.draw();
  }
  look(from, until) {
    const whole = this.last - this.first;
    const span = Math.min(Math.max(until - from, 10), whole);
    const middle = (from + until) / 2;
    this.from = Math.min(Math.max(middle - span / 2, this.first), this.last - span);
    this.until = this.from + span;
    const isAll = span >= whole;
    [view.from, view.until] = isAll ? [null, null] : [Math.floor(this.from), Math.ceil(this.until)];
    view.keep();
    this.draw();
    this.fetch();
  }
  zoom(by, at = (this.from + this.until) / 2) { this.look(at - (at - this.from) * by, at + (this.until - at) * by); }
  move(share) { const by = (this.until - this.from) * share; this.look(this.from + by, this.until + by); }
  all() { this.remember(); this.look(this.first, this.last); }
  go(from, until) { this.remember(); const around = Math.max((until - from) * 0.3, 10); this.look(from - around, until + around); }
  remember() { this.history.push([this.from, this.until]); if (this.history.length > 100) this.history.shift(); }
  back() { const last = this.history.pop(); if (last) this.look(...last); }
  // Lanes that are in sight, from the one that the box is scrolled to.
  inSight() {
    const [top, bottom] = [this.box.scrollTop, this.box.scrollTop + this.seen];
    const rows = this.rows.filter(row => !row.curve && row.y + ROW >= top && row.y <= bottom);
    return [...new Set(rows.map(row => row.lane))].slice(0, MOST_LANES);
  }
  fetch() {
    if (!this.run) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetchNow(), this.data ? 25 : 0);
  }
  async fetchNow() {
    this.abort?.abort();
    const abort = this.abort = new AbortController();
    const [run, from, until] = [this.run, Math.floor(this.from), Math.ceil(this.until)];
    const pixels = Math.max(1, Math.min(8192, Math.round(this.width - this.gutter)));
    const asked = new URLSearchParams({ run: this.number, from, until, pixels, lanes: this.inSight().join(',') });
    try {
      const data = await ask('window?' + asked, { signal: abort.signal });
      if (this.run !== run || abort.signal.aborted) return;
      data.colours = data.labels.map(label => colour(label.name));
      data.byRow = new Map(data.rows.map(row => [row.lane + ' ' + row.depth, row]));
      this.data = data;
      this.draw();
      this.tell();
    } catch (error) {
      if (error.name !== 'AbortError') get('drawn').textContent = error.message;
    }
  }
  // In words, what is drawn.
  tell() {
    const sum = of => this.data.rows.reduce((all, row) => all + of(row), 0);
    const [spans, blocks] = [sum(row => row.spans.length), sum(row => row.merged.length)];
    const merged = sum(row => row.merged.reduce((all, block) => all + block[2], 0));
    const lanes = new Set(this.data.rows.map(row => row.lane)).size;
    const curves = this.rows.filter(row => row.curve).length;
    const isCut = this.inSight().length >= MOST_LANES ? ' (the maximum shown at once)' : '';
    get('drawn').textContent = `${counted(lanes, 'lane')}${isCut}, ${counted(this.data.spans, 'interval')}: ${integer(spans)} one by one, `
      + `${integer(merged)} shorter than ${duration(this.data.pixel_ns)} in ${counted(blocks, 'block')}.`
      + (curves > 0 ? ` ${counted(curves, 'curve')}.` : '');
  }
  draw() {
    if (!this.run || this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => { this.isAsked = false; if (this.run) this.drawNow(); });
  }
  drawNow() {
    const style = getComputedStyle(document.documentElement);
    const [ink, faint, line, page, accent] = ['--ink', '--faint', '--line', '--page', '--accent'].map(name => style.getPropertyValue(name).trim());
    const pen = this.canvas.getContext('2d');
    const [width, height, gutter] = [this.width, this.seen, this.gutter];
    pen.setTransform(this.density, 0, 0, this.density, 0, 0);
    pen.fillStyle = page;
    pen.fillRect(0, 0, width, height);
    pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
    pen.textBaseline = 'middle';
    const scroll = this.box.scrollTop;
    pen.save();
    pen.beginPath();
    pen.rect(gutter, 0, width - gutter, height);
    pen.clip();
    const ticks = this.ticks();
    pen.fillStyle = line;
    for (const at of ticks) pen.fillRect(Math.round(this.x(at)), AXIS - 4, 1, height);
    for (const row of this.rows) {
      const y = row.y - scroll;
      if (y < AXIS - row.height || y > height) continue;
      if (row.curve) { drawCurve(pen, row.curve, y, this, accent, ink); continue; }
      const data = this.data?.byRow.get(row.lane + ' ' + row.depth);
      if (data) this.drawRow(pen, data, y, ink);
    }
    if (this.part) {
      const [x0, x1] = this.part.map(time => this.x(time));
      pen.globalAlpha = 0.15; pen.fillStyle = ink; pen.fillRect(x0, AXIS, x1 - x0, height); pen.globalAlpha = 1;
    }
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
    for (const row of this.rows) {
      const y = row.y - scroll;
      if (row.depth > 0 || y > height) continue;
      if (y > AXIS + 4) { pen.fillStyle = line; pen.fillRect(0, y - 4, width, 1); }
      if (y < AXIS - row.height / 2) continue;
      pen.fillStyle = ink;
      const mark = view.folded.includes(row.lane) ? '▸ ' : '';
      pen.fillText(fitted(pen, mark + row.name, gutter - 10), 5, y + row.height / 2);
    }
    get('range').textContent = `${show(this.from)} to ${show(this.until)} (${duration(this.until - this.from)})`;
    if (this.pointer) tip(this.words(this.pointer.x, this.pointer.y), this.pointer.clientX, this.pointer.clientY);
  }
  alpha(label, alpha) {
    const lit = view.highlight.toLowerCase();
    return lit === '' || this.data.labels[label].name.toLowerCase().includes(lit) ? alpha : alpha * 0.15;
  }
  drawRow(pen, row, y, ink) {
    // Many together lie flat on the line, paler the less time they fill, and have no name on them.
    for (const [start, end, count, sum, label] of row.merged) {
      const [x0, x1] = [this.x(this.data.from + start), this.x(this.data.from + end)];
      if (x1 < this.gutter || x0 > this.width) continue;
      pen.globalAlpha = this.alpha(label, 0.35 + 0.5 * Math.min(1, sum / Math.max(end - start, 1)));
      pen.fillStyle = this.data.colours[label];
      pen.fillRect(x0, y + 7, Math.max(x1 - x0, 1), ROW - 9);
    }
    for (const [start, dur, label] of row.spans) {
      const [x0, x1] = [this.x(this.data.from + start), this.x(this.data.from + start + dur)];
      if (x1 < this.gutter || x0 > this.width) continue;
      pen.globalAlpha = this.alpha(label, 1);
      pen.fillStyle = this.data.colours[label];
      pen.fillRect(x0, y + 1, Math.max(x1 - x0 - (x1 - x0 > 3 ? 0.5 : 0), 0.8), ROW - 2);
      const left = Math.max(x0, this.gutter);
      const room = Math.min(x1, this.width) - left - 6;
      if (room > 24) {
        pen.fillStyle = DARK.has(this.data.colours[label]) ? '#fff' : '#000';
        pen.fillText(fitted(pen, this.data.labels[label].shown, room), left + 3, y + ROW / 2 + 0.5);
      }
    }
    pen.globalAlpha = 1;
    pen.fillStyle = ink;
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
  rowAt(y) { const top = y + this.box.scrollTop; return this.rows.find(row => top >= row.y && top < row.y + row.height); }
  // The interval or the block at a place, the nearest within a pixel.
  at(x, y) {
    const place = this.rowAt(y);
    if (!place || place.curve || x < this.gutter || y < AXIS - 4 || !this.data) return null;
    const row = this.data.byRow.get(place.lane + ' ' + place.depth);
    if (!row) return null;
    const near = (this.until - this.from) / (this.width - this.gutter);
    const time = this.time(x) - this.data.from;
    const span = row.spans.find(([start, dur]) => start - near <= time && time <= start + dur + near);
    const block = row.merged.find(([start, end]) => start <= time && time <= Math.max(end, start + near));
    if (block && !(span && span[0] <= time && time <= span[0] + span[1])) return { place, block };
    return span ? { place, span } : null;
  }
  words(x, y) {
    const found = this.at(x, y);
    if (!found) {
      const row = this.rowAt(y);
      if (row && x < this.gutter) return row.name;
      return row?.curve && y >= AXIS - 4 ? curveWords(row.curve, this.time(x), this.last, this.shower()) : null;
    }
    const label = number => this.data.labels[number].name;
    if (found.span) {
      const [start, dur, name] = found.span;
      return `${label(name)}\n${duration(dur)} from ${this.shower()(this.data.from + start)}\n${found.place.name}, depth ${found.place.depth}`;
    }
    const [start, end, count, sum, name, longest] = found.block;
    return `${counted(count, 'interval')}, ${duration(sum)} of ${duration(end - start)}\nthe longest: ${label(name)}, ${duration(longest)}\n${found.place.name}, depth ${found.place.depth}`;
  }
  click(x, y) {
    const row = this.rowAt(y);
    if (row?.curve) return;
    if (row && x < this.gutter) {
      view.folded = view.folded.includes(row.lane) ? view.folded.filter(lane => lane !== row.lane) : [...view.folded, row.lane];
      this.again();
      return;
    }
    const found = this.at(x, y);
    if (found?.block) { this.go(this.data.from + found.block[0], this.data.from + found.block[1]); return; }
    if (found?.span) showSpan(this, found);
  }
  // After another choice of lanes.
  again() { view.keep(); this.lay(); this.size(); this.fetch(); }
  listen() {
    const middle = () => (this.pointer ? this.time(Math.max(this.pointer.x, this.gutter)) : undefined);
    const [nearer, farther] = [() => this.zoom(0.5, middle()), () => this.zoom(2, middle())];
    const [left, right] = [() => this.move(-0.25), () => this.move(0.25)];
    const search = get('highlight');
    const actions = { in: () => this.zoom(0.5), out: () => this.zoom(2), left, right, all: () => this.all(), back: () => this.back() };
    for (const button of document.querySelectorAll('.controls [data-do]')) {
      const act = actions[button.dataset.do];
      if (act) button.onclick = () => this.run && act();
    }
    search.oninput = () => { view.highlight = search.value; view.keep(); this.draw(); };
    const keys = {
      w: nearer, '+': nearer, '=': nearer, s: farther, '-': farther, a: left, ArrowLeft: left, d: right, ArrowRight: right,
      0: () => this.all(), Home: () => this.all(), Backspace: () => this.back(), '/': () => search.focus(),
    };
    this.box.addEventListener('keydown', event => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key] || !this.run) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.box.addEventListener('scroll', () => { this.draw(); this.fetch(); });
    this.canvas.addEventListener('wheel', event => {
      if ((!event.ctrlKey && !event.metaKey) || !this.run) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
    }, { passive: false });
    this.canvas.addEventListener('dblclick', event => this.run && this.zoom(0.4, this.time(event.offsetX)));
    let held = null;
    this.canvas.addEventListener('pointerdown', event => {
      if (!this.run) return;
      held = { x: event.offsetX, from: this.from, until: this.until, chooses: event.shiftKey, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointerup', event => {
      if (held && !held.moved) this.click(event.offsetX, event.offsetY);
      else if (held && this.part) { const part = this.part; this.part = null; this.remember(); this.look(...part); }
      held = null;
    });
    this.canvas.addEventListener('pointercancel', () => { held = null; this.part = null; });
    this.canvas.addEventListener('pointermove', event => {
      this.pointer = held ? null : { x: event.offsetX, y: event.offsetY, clientX: event.clientX, clientY: event.clientY };
      if (held) {
        held.moved ||= Math.abs(event.offsetX - held.x) > 3;
        if (held.moved && held.chooses) {
          this.part = [held.x, event.offsetX].map(x => this.time(Math.max(x, this.gutter))).sort((a, b) => a - b);
          this.draw();
        } else if (held.moved) {
          const by = (held.x - event.offsetX) / (this.width - this.gutter) * (held.until - held.from);
          this.look(held.from + by, held.until + by);
        }
      }
      tip(held || !this.run ? null : this.words(event.offsetX, event.offsetY), event.clientX, event.clientY);
    });
    this.canvas.addEventListener('pointerleave', () => { this.pointer = null; tip(null); });
    addEventListener('resize', () => { this.size(); this.fetch(); });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }
}
