'use strict';
// What goes wrong in this page, for the self-test.
const problems = [];
addEventListener('error', event => problems.push(String(event.message)));

const DATA = JSON.parse(document.getElementById('data').textContent);

// Numbers as the report's other forms show them: three digits, a unit, halves to even.
function fixed(value, decimals) {
  const twice = Math.abs(value) * 2 ** (decimals + 1);
  const text = value.toFixed(decimals);
  // Exactly between two: only then do the two ways of rounding differ.
  if (Number.isInteger(twice) && twice % 2 === 1 && '13579'.includes(text.at(-1))) {
    const step = 10 ** -decimals;
    return (value > 0 ? Number(text) - step : Number(text) + step).toFixed(decimals);
  }
  return text;
}
function rounded(size) {
  if (size === 0 || !Number.isFinite(size)) return size;
  const step = 10 ** (Math.floor(Math.log10(size)) - 2);
  return Math.round(size / step) * step;
}
function digits(value) {
  const size = rounded(Math.abs(value));
  if (Number.isInteger(value) && size < 1e15) return value.toFixed(0);
  if (size < 1e-3) return exponent(value);
  return fixed(value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : size >= 0.01 ? 3 : 4);
}
function duration(ns) {
  const size = rounded(Math.abs(ns));
  const [by, unit] = size < 1e3 ? [1, 'ns'] : size < 1e6 ? [1e3, 'µs'] : size < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  return digits(ns / by) + ' ' + unit;
}
function scaled(value, unit) {
  const size = rounded(Math.abs(value));
  const prefixes = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
  const [by, prefix] = prefixes.find(([by]) => size >= by) ?? [1, ''];
  return digits(value / by) + ' ' + prefix + unit;
}
function percent(share) {
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.05) return value > 0 ? '<0.1 %' : '>-0.1 %';
  // What is not all is not shown as all; sums of shares are off by less than this.
  if (value >= 99.95 && share < 1 - 1e-12) return '>99.9 %';
  return fixed(value, 1) + ' %';
}
function exponent(value) {
  return value.toExponential(2).replace('e+', 'e');
}
function plain(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 1e-3 || size >= 1e18) return exponent(value);
  if (rounded(size) >= 1e6) return scaled(value, '').trimEnd();
  return size >= 1e3 ? (value < 0 ? '-' : '') + integer(String(Math.round(size))) : digits(value);
}
function integer(text) {
  return text.replace(/\B(?=(\d{3})+$)/g, ',');
}
// Points in time of a column, all in one unit.
function position(largest) {
  const [by, unit, decimals] = largest < 1e3 ? [1, 'ns', 0] : largest < 1e6 ? [1e3, 'µs', 3] : largest < 1e9 ? [1e6, 'ms', 3] : [1e9, 's', 6];
  return ns => fixed(ns / by, decimals) + ' ' + unit;
}
const NOT_MEASURED = '–';
// A function from a column's values to what is shown.
function shower(column) {
  if (column.k === 't') return value => value === null ? NOT_MEASURED : column.s?.[value] ?? DATA.texts[value];
  if (column.k === 'b') return value => value === null ? NOT_MEASURED : value ? 'yes' : 'no';
  const numbers = column.c.filter(value => typeof value === 'number');
  const at = position(numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  const units = { ns: duration, at, '%': percent, B: v => scaled(v, 'B'), 'B/s': v => scaled(v, 'B/s'), '/s': v => scaled(v, '/s'), id: v => column.f ? plain(v) : String(v) };
  const unit = units[column.u] ?? (v => column.f ? plain(v) : integer(String(v)));
  return value => {
    if (value === null) return NOT_MEASURED;
    if (value === 'NaN') return 'not a number';
    if (value === 'Infinity') return '∞';
    if (value === '-Infinity') return '-∞';
    if (column.k === 'i' && (column.u === 'id' || column.u === '')) return column.u === 'id' ? value : integer(value);
    return unit(Number(value));
  };
}

// An element of a picture. The parser names the namespace, so that no address stands in the page.
const VECTOR = make('template', { innerHTML: '<svg></svg>' }).content.firstChild.namespaceURI;
function vector(tag, set = {}, ...children) {
  const element = document.createElementNS(VECTOR, tag);
  for (const [key, value] of Object.entries(set)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
// Elements; text is only ever set as text.
function make(tag, set = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(set)) {
    if (key in element && key !== 'list') element[key] = value; else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}
