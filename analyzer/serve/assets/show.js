'use strict';
// Elements and numbers. Text is only ever set as text: names come from recorded programs.
const get = id => document.getElementById(id);
function make(tag, set = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(set)) {
    if (key in element) element[key] = value; else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}
function integer(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
function digits(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1000) return String(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
function duration(ns) {
  const size = Math.abs(ns);
  const [by, unit] = size < 1e3 ? [1, 'ns'] : size < 999500 ? [1e3, 'µs'] : size < 999.5e6 ? [1e6, 'ms'] : [1e9, 's'];
  return digits(ns / by) + ' ' + unit;
}
function counted(count, one, many = one + 's') {
  return `${integer(count)} ${count === 1 ? one : many}`;
}
function tip(text, x = 0, y = 0) {
  const box = get('tip');
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const size = box.getBoundingClientRect();
  box.style.left = Math.max(4, Math.min(x + 14, innerWidth - size.width - 8)) + 'px';
  box.style.top = (y + 18 + size.height > innerHeight ? Math.max(4, y - size.height - 10) : y + 18) + 'px';
}
// A table of texts; null is what was not recorded.
function tableOf(columns, numeric, rows) {
  const right = at => (numeric[at] ? 'r' : '');
  const head = make('tr', {}, ...columns.map((name, at) => make('th', { scope: 'col', className: right(at) }, name)));
  const cell = (value, at) => make('td', { className: right(at) + (value === null ? ' null' : '') }, value ?? '–');
  const body = rows.map(row => make('tr', {}, ...row.map(cell)));
  return make('table', {}, make('thead', {}, head), make('tbody', {}, ...body));
}
// Asks the server; a refusal is an error with its words.
async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Error('the server does not answer: was trueno-analyze serve stopped?');
  }
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}
