// Values over time, as rows between lanes. A curve is the same at each zoom: the server sends it once.
const CURVE_ROW = 34;

class Curves {
  constructor() { this.all = []; }
  async fetch(run, changed) {
    this.all = [];
    try {
      const found = await ask('curves?run=' + run);
      this.all = found.map(curve => {
        const [high, low] = curve.values.reduce(([high, low], value) => [Math.max(high, value), Math.min(low, value)], [0, 0]);
        return { ...curve, high, low };
      });
    } catch (error) {
      get('drawn').textContent = error.message;
    }
    changed();
  }
  after(lane) { return this.all.filter(curve => curve.after === lane); }
}

// The change that holds at a time; -1: none yet.
function changeAt(curve, time) {
  let [low, high] = [0, curve.times_ns.length];
  while (low < high) { const middle = (low + high) >> 1; if (curve.times_ns[middle] <= time) low = middle + 1; else high = middle; }
  return low - 1;
}
// A queue is empty after its last change; of a counter the last reading is the last that is known.
function endOf(curve, last) { return curve.values.at(-1) === 0 ? last : curve.times_ns.at(-1); }
function valueText(curve, value) {
  const [unit, ...source] = (curve.unit ?? '').split(', ');
  const prefixes = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
  const [by, prefix] = prefixes.find(([by]) => Math.abs(value) >= by) ?? [1, ''];
  const isBytes = /^(bytes|B)(\/s)?$/.test(unit);
  const number = isBytes || Math.abs(value) >= 1e6 ? `${digits(value / by)} ${prefix}${isBytes ? unit.replace('bytes', 'B') : ''}` : digits(value);
  return [`${number} ${isBytes ? '' : unit}`.trim(), ...source].join(', ');
}
function curveWords(curve, time, last, show) {
  const at = changeAt(curve, time);
  if (at < 0 || time > endOf(curve, last)) return curve.name;
  const within = curve.slice_ns ? `, the highest in ${duration(curve.slice_ns)}` : '';
  return `${curve.name}: ${valueText(curve, curve.values[at])}${within}\nat ${show(time)}, highest ${valueText(curve, curve.high)}`;
}
// Steps, filled from 0. Changes in one pixel are one column, as high as the highest.
function drawCurve(pen, curve, y, lanes, accent, ink) {
  const { times_ns: times, values, high, low } = curve;
  const [top, bottom] = [y + 3, y + CURVE_ROW - 3];
  const at = value => bottom - (value - low) / (high - low || 1) * (bottom - top);
  pen.fillStyle = accent;
  pen.globalAlpha = 0.55;
  let column = null;
  const flush = () => {
    if (!column || (column.most <= 0 && column.least >= 0)) return;
    const [from, to] = [at(Math.max(column.most, 0)), at(Math.min(column.least, 0))];
    pen.fillRect(column.x, from, Math.max(column.until - column.x, 0.7), Math.max(to - from, 0.7));
  };
  for (let i = Math.max(changeAt(curve, lanes.from), 0); i < times.length && times[i] < lanes.until; i++) {
    const x = lanes.x(Math.max(times[i], lanes.from));
    const until = lanes.x(Math.min(times[i + 1] ?? endOf(curve, lanes.last), lanes.until));
    if (column && until - column.x < 0.7) {
      column = { ...column, until, most: Math.max(column.most, values[i]), least: Math.min(column.least, values[i]) };
      continue;
    }
    flush();
    column = { x, until, most: values[i], least: values[i] };
  }
  flush();
  pen.globalAlpha = 1;
  pen.fillStyle = ink;
  pen.fillText(valueText(curve, high > 0 ? high : low), lanes.gutter + 4, top + 5);
}
