// The interval that was chosen, and its whole row; lanes to choose.
async function showSpan(lanes, { place, span }) {
  const [start, dur, label, id] = span;
  const { name, table } = lanes.data.labels[label];
  const at = lanes.data.from + start;
  const box = get('picked');
  const facts = [['name', name], ['duration', duration(dur)], ['start', `${integer(at)} ns`], ['lane', `${place.name}, depth ${place.depth}`], ['row', `${table} ${id}`]];
  const list = make('dl', {}, ...facts.flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, text)]));
  const sql = `SELECT * FROM ${table} WHERE id = ${id}`;
  const near = make('button', { type: 'button', onclick: () => lanes.go(at, at + Math.max(dur, 1)) }, 'go there');
  const same = make('button', { type: 'button', onclick: () => { get('highlight').value = view.highlight = name; view.keep(); lanes.draw(); } }, 'highlight this name');
  const more = make('button', { type: 'button' }, 'all of its row');
  more.onclick = async () => {
    more.disabled = true;
    try {
      const rows = await ask('query', { method: 'POST', body: JSON.stringify({ run: lanes.number, sql }) });
      const known = rows.columns.map((name, column) => [name, rows.rows[0]?.[column]]).filter(([, value]) => value !== null && value !== undefined);
      list.append(...known.flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, text)]));
      more.remove();
    } catch (error) {
      list.append(make('dt', {}, 'its row'), make('dd', {}, error.message));
      more.disabled = false;
    }
  };
  box.replaceChildren(make('h2', {}, 'chosen'), list, make('div', { className: 'controls' }, near, same, more));
}

function equipLaneChoice(lanes) {
  const [box, list, search] = [get('lane-choice'), get('lane-list'), get('lane-search')];
  const button = document.querySelector('[data-do=lanes]');
  const choose = chosen => {
    const all = lanes.run.lanes.length;
    view.lanes = chosen.length === all ? null : chosen;
    lanes.again();
  };
  const fill = () => {
    const part = search.value.toLowerCase();
    const chosen = new Set(view.lanes ?? lanes.run.lanes.map((_, at) => at));
    const shown = lanes.run.lanes.map((lane, at) => ({ lane, at })).filter(({ lane }) => lane.name.toLowerCase().includes(part)).slice(0, 1000);
    list.replaceChildren(...shown.map(({ lane, at }) => {
      const spans = lane.depths.reduce((all, count) => all + count, 0);
      const input = make('input', { type: 'checkbox', checked: chosen.has(at) });
      input.onchange = () => { if (input.checked) chosen.add(at); else chosen.delete(at); choose([...chosen].sort((a, b) => a - b)); };
      return make('label', {}, input, ` ${lane.name} (${integer(spans)})`);
    }));
    return shown.map(({ at }) => at);
  };
  button.onclick = () => {
    if (!lanes.run) return;
    box.hidden = !box.hidden;
    button.setAttribute('aria-expanded', String(!box.hidden));
    fill();
  };
  search.oninput = fill;
  box.querySelector('[data-lanes=all]').onclick = () => { const shown = fill(); choose(search.value === '' ? lanes.run.lanes.map((_, at) => at) : shown); fill(); };
  box.querySelector('[data-lanes=none]').onclick = () => { choose([]); fill(); };
}
