// The page on paper: what is folded is open, and the timeline is a picture of what is seen of it.

// Width of the printed timeline; height of a piece of it at most, which fits a page; pieces at most.
const [PAPER_WIDTH, PIECE_HEIGHT, MAX_PIECES] = [720, 820, 2];

// What the timeline draws on a canvas, as elements of an SVG: its texts stay texts, and it is sharp at any size.
class SvgPen {
  constructor(width, height) {
    this.top = vector('svg', { viewBox: `0 0 ${width} ${height}`, width, height });
    this.into = this.top;
    this.size = [width, height];
    [this.fillStyle, this.strokeStyle, this.lineWidth, this.globalAlpha, this.textAlign] = ['#000', '#000', 1, 1, 'left'];
    this.ruler = document.createElement('canvas').getContext('2d');
    this.path = '';
    this.last = null;
  }
  add(tag, set) {
    const element = vector(tag, set);
    if (this.globalAlpha < 1) element.setAttribute('opacity', this.globalAlpha.toFixed(2));
    this.into.append(element);
    this.last = null;
    return element;
  }
  // One that continues the rectangle before it makes that one wider.
  fillRect(x, y, width, height) {
    const kind = [this.fillStyle, this.globalAlpha, y, height].join();
    const { last } = this;
    if (last?.kind === kind && x >= last.x && x - last.until < 0.05) {
      last.until = Math.max(last.until, x + width);
      last.element.setAttribute('width', (last.until - last.x).toFixed(2));
      return;
    }
    const element = this.add('rect', { x: x.toFixed(2), y: y.toFixed(2), width: Math.max(width, 0).toFixed(2), height: Math.max(height, 0).toFixed(2) });
    element.style.fill = this.fillStyle;
    this.last = { kind, element, x, until: x + width };
  }
  strokeRect(x, y, width, height) {
    this.line(this.add('rect', { x: x.toFixed(2), y: y.toFixed(2), width: Math.max(width, 0).toFixed(2), height: Math.max(height, 0).toFixed(2) }));
  }
  line(element) {
    element.style.fill = 'none';
    element.style.stroke = this.strokeStyle;
    element.style.strokeWidth = this.lineWidth;
  }
  fillText(text, x, y) {
    const element = this.add('text', { x: x.toFixed(2), y: y.toFixed(2), 'dominant-baseline': 'central', 'text-anchor': this.textAlign === 'center' ? 'middle' : 'start' });
    element.style.font = this.font;
    element.style.fill = this.fillStyle;
    element.textContent = text;
  }
  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  beginPath() { this.path = ''; }
  moveTo(x, y) { this.path += `M${x.toFixed(2)} ${y.toFixed(2)}`; }
  lineTo(x, y) { this.path += `L${x.toFixed(2)} ${y.toFixed(2)}`; }
  bezierCurveTo(...points) { this.path += `C${points.map(at => at.toFixed(2)).join(' ')}`; }
  stroke() { this.line(this.add('path', { d: this.path })); }
  // The lanes clip by one rectangle.
  rect(...area) { this.area = area; }
  save() {}
  clip() {
    const [x, y, width, height] = this.area;
    this.into = this.add('svg', { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` });
    this.last = null;
  }
  restore() {
    this.into = this.top;
    this.last = null;
  }
}

// Rows of each piece of a printed timeline: a lane is together where it fits.
function pieces(rows) {
  const out = [];
  let of = [];
  const height = rows => rows.at(-1).y - rows[0].y + rows.at(-1).height;
  for (let from = 0; from < rows.length;) {
    let until = from + 1;
    while (until < rows.length && !rows[until].first) until++;
    const lane = rows.slice(from, until);
    from = until;
    if (of.length > 0 && height([...of, ...lane]) > PIECE_HEIGHT) { out.push(of); of = []; }
    for (const row of lane) {
      if (of.length > 0 && height([...of, row]) > PIECE_HEIGHT) { out.push(of); of = []; }
      of.push(row);
    }
  }
  return of.length > 0 ? [...out, of] : out;
}

// The part of the time that is on the screen, all its lanes; words on what is not printed.
function paperTimeline(timeline) {
  const folded = new Set(timeline.folded);
  const shown = () => timeline.rows.filter(row => row.shown);
  const notes = [`From ${timeline.rangeText()}.`];
  timeline.paperWidth = PAPER_WIDTH;
  let parts = pieces(shown());
  if (parts.length > MAX_PIECES) {
    for (const row of timeline.rows) if (row.depth > 0) timeline.folded.add(row.lane);
    timeline.lay();
    parts = pieces(shown());
    notes.push('Only the outermost row of each lane is printed.');
  }
  const left = parts.slice(MAX_PIECES).flat().length;
  if (left > 0) notes.push(`${integer(String(left))} more lanes are not printed.`);
  const input = document.getElementById('highlight');
  if (timeline.lit) notes.push(`Search “${input.value.trim()}”: ${integer(String(timeline.picked.matches.length))} found; other names are pale.`);
  const drawn = parts.slice(0, MAX_PIECES).map(rows => {
    const above = timeline.path.size > 0 ? STRIP + 1 : 0;
    const scroll = rows[0].y - AXIS - above - 2;
    const height = rows.at(-1).y - scroll + rows.at(-1).height;
    const pen = new SvgPen(PAPER_WIDTH, height + 2);
    timeline.drawRows(pen, { rows, scroll, height, colour: name => `var(${name})` });
    return pen.top;
  });
  timeline.paperWidth = undefined;
  timeline.folded = folded;
  timeline.lay();
  return [...drawn, make('p', { className: 'note', textContent: notes.join(' ') })];
}

// Texts up to here are printed in one line; longer ones wrap, and take WRAPPED characters at least.
const [WHOLE, WRAPPED] = [16, 26];
// Forms of a printed table, by the characters that its rows take at least: smaller letters, then rows as paragraphs.
const FORMS = [[120, []], [135, ['small']], [155, ['smaller']], [Infinity, ['records']]];
function fitTable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows];
  let length = 0;
  heads.forEach((head, at) => {
    const word = Math.max(...head.textContent.trim().split(/\s+/).map(word => word.length));
    const longest = Math.max(0, ...rows.map(row => row.cells[at]?.textContent.length ?? 0));
    length += Math.max(word, head.classList.contains('r') ? longest : Math.min(longest, WRAPPED)) + 2;
  });
  const [, form] = FORMS.find(([most]) => length <= most);
  const isRecords = form[0] === 'records';
  table.classList.add(...isRecords && rows.length === 0 ? ['smaller', 'empty'] : form);
  for (const row of rows) {
    [...row.cells].forEach((cell, at) => {
      if (isRecords && heads[at]) cell.dataset.heading = heads[at].textContent.trim();
      if (!isRecords) cell.classList.toggle('whole', cell.textContent.length <= WHOLE);
    });
  }
}
const unfitTable = table => table.classList.remove('small', 'smaller', 'records', 'empty');

function equipPrint() {
  let opened = [];
  const begin = () => {
    opened.push(...document.querySelectorAll('details:not([open])'));
    for (const details of opened) details.open = true;
    for (const table of document.querySelectorAll('main table')) if (table.tHead) fitTable(table);
    if (timeline) document.getElementById('printed').replaceChildren(...paperTimeline(timeline));
  };
  const end = () => {
    for (const details of opened) details.open = false;
    opened = [];
    document.querySelectorAll('main table').forEach(unfitTable);
    document.getElementById('printed')?.replaceChildren();
  };
  addEventListener('beforeprint', begin);
  addEventListener('afterprint', end);
}
