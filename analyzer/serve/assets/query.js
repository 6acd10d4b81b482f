// The box for SQL. A query is stopped on the server when nobody waits for it.
const EXAMPLES = [
  ['time by name', 'SELECT name, COUNT(*) AS n, SUM(dur_ns) AS dur_ns FROM kernels GROUP BY name ORDER BY dur_ns DESC LIMIT 20'],
  ['tables', 'SHOW TABLES'],
  ['lanes', 'SELECT * FROM timeline.lanes'],
  ['slack', 'SELECT k.name, s.slack_ns FROM kernels k JOIN critical_path.slack s ON s.id = k.id ORDER BY s.slack_ns DESC LIMIT 20'],
];
const query = {
  abort: null,
  equip() {
    const box = get('query');
    get('ask').onclick = () => this.run();
    get('stop').onclick = () => this.abort?.abort();
    box.onkeydown = event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.run(); } };
    box.oninput = () => { view.sql = box.value; view.keep(); };
    get('examples').append(...EXAMPLES.flatMap(([name, sql]) => [make('button', { type: 'button', onclick: () => { box.value = view.sql = sql; view.step(); box.focus(); } }, name), ' ']));
  },
  // A link with a query asks it once its reader looks at the page; what it does is read.
  show(state) {
    const box = get('query');
    if (box.value !== view.sql) box.value = view.sql;
    const others = state.runs.filter((_, at) => at !== view.run);
    get('others').textContent = others.length === 0 ? '' : '; of ' + others.map(run => `${run.path} as ${run.word}.bricks`).join(', of ');
    const key = view.run + ' ' + view.sql;
    if (view.sql !== '' && this.asked === undefined) this.run();
    this.asked ??= key;
  },
  async run() {
    const sql = get('query').value.trim().replace(/;+$/, '');
    if (sql === '') return;
    this.abort?.abort();
    const abort = this.abort = new AbortController();
    view.sql = get('query').value;
    this.asked = view.run + ' ' + view.sql;
    view.step();
    const [state, box, stop] = [get('query-state'), get('rows'), get('stop')];
    state.textContent = 'asking …';
    box.replaceChildren();
    stop.hidden = false;
    const began = performance.now();
    try {
      const rows = await ask('query', { method: 'POST', body: JSON.stringify({ run: view.run, sql }), signal: abort.signal });
      if (this.abort !== abort) return;
      const took = duration((performance.now() - began) * 1e6);
      const more = rows.is_cut ? ': there are more (use LIMIT, WHERE or GROUP BY)' : '';
      state.textContent = `${counted(rows.rows.length, 'row')}${more}, in ${took}.`;
      box.replaceChildren(tableOf(rows.columns, rows.numeric, rows.rows));
    } catch (error) {
      if (this.abort === abort) state.textContent = error.name === 'AbortError' ? 'stopped.' : error.message;
    } finally {
      if (this.abort === abort) stop.hidden = true;
    }
  },
};
