// The whole page: runs as the server has them, what is looked at, and what is shown of it.
let state = { number: 0, runs: [] };
const lanes = new Lanes();
const report = new MadePage('report-state', 'report-frame', 'the report');
const comparison = new MadePage('compare-state', 'compare-frame', 'the comparison');

function banners(run) {
  const out = [];
  if (run.changed) {
    const button = make('button', { type: 'button', onclick: () => readAgain() }, 'read it again');
    out.push(make('div', { className: 'banner error' }, `${run.path}: ${run.changed}. `, button));
  }
  if (run.status.is === 'failed') {
    const button = make('button', { type: 'button', onclick: () => readAgain() }, 'try again');
    out.push(make('div', { className: 'banner error' }, `${run.path} cannot be read: ${run.status.why} `, button));
  }
  const doubts = run.head?.doubts ?? [];
  if (run.head?.is_complete === false) {
    out.push(make('div', { className: 'banner' }, `This run is not complete. ${doubts.slice(0, 5).join('; ')}${doubts.length > 5 ? '; …' : ''}`));
  } else if (doubts.length > 0) {
    out.push(make('div', { className: 'banner' }, doubts.slice(0, 5).join('; ')));
  }
  if (run.too_deep > 0) out.push(make('div', { className: 'banner' }, `${counted(run.too_deep, 'interval')} are nested too deeply to draw, and are left out.`));
  get('banners').replaceChildren(...out);
}
async function readAgain() {
  try { await ask('again?run=' + view.run, { method: 'POST' }); report.forget(); comparison.forget(); } catch (error) { get('status').textContent = error.message; }
}
function tellStatus(run) {
  const wall = run.head?.wall_ns ? `wall ${duration(run.head.wall_ns)} · ` : '';
  const all = run.head?.rows ?? 0;
  const words = {
    waiting: () => 'waits to be read',
    reading: () => (!run.head ? 'opening it …' : run.status.rows < all ? `reading ${integer(run.status.rows)} of ${integer(all)} rows …` : `${integer(all)} rows read, putting them in order …`),
    ready: () => `${counted(run.lanes.length, 'lane')} · ${counted(run.spans, 'interval')}`,
    failed: () => 'cannot be read',
  };
  const box = get('status');
  box.textContent = wall + words[run.status.is]();
  box.className = run.status.is === 'failed' ? 'failed' : '';
  box.dataset.is = run.status.is;
}
function choices(select, chosen) {
  const options = state.runs.map((run, at) => make('option', { value: String(at) }, run.head?.title ? `${run.path} (${run.head.title})` : run.path));
  if (select.options.length !== options.length || [...select.options].some((option, at) => option.text !== options[at].text)) select.replaceChildren(...options);
  select.value = String(chosen);
}
function facts(run) {
  const list = (run.head?.facts ?? []).flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, text)]);
  get('facts').replaceChildren(make('h2', {}, 'run'), make('dl', {}, make('dt', {}, 'path'), make('dd', {}, run.path), ...list));
}
function render() {
  if (state.runs.length === 0) return;
  if (view.run >= state.runs.length) view.run = 0;
  const run = state.runs[view.run];
  document.title = `${run.head?.title ?? run.path} · trueno-analyze`;
  get('title').textContent = run.head?.title ?? run.path;
  get('run-choice').hidden = state.runs.length < 2;
  choices(get('run'), view.run);
  for (const button of document.querySelectorAll('#tabs button')) {
    const isIt = button.dataset.tab === view.tab;
    if (isIt) button.setAttribute('aria-current', 'page'); else button.removeAttribute('aria-current');
    get(button.dataset.tab).hidden = !isIt;
  }
  tellStatus(run);
  banners(run);
  if (view.tab === 'timeline') {
    facts(run);
    get('highlight').value = view.highlight;
    if (run.status.is === 'ready') lanes.show(view.run, run); else lanes.hide();
  }
  if (view.tab === 'report') report.show({ run: view.run });
  if (view.tab === 'sql') query.show(state);
  if (view.tab === 'compare') compareRuns();
}
function compareRuns() {
  const [base, after] = [view.base ?? 0, view.after ?? Math.min(1, state.runs.length - 1)];
  choices(get('base'), base);
  choices(get('after'), after);
  const isAsked = view.base !== null && view.after !== null && base < state.runs.length && after < state.runs.length;
  if (isAsked) comparison.show({ base, run: after });
  else if (state.runs.length < 2) get('compare-state').textContent = 'Only one run is served: trueno-analyze serve BEFORE AFTER serves two.';
}
// The states that the server has, each as it comes.
async function follow() {
  for (let failed = 0; failed < 5;) {
    try {
      const last = state;
      state = await ask('state' + (last.number ? '?after=' + last.number : ''));
      failed = 0;
      // Runs that are as they were stay the same object, so that what is drawn of them stays.
      state.runs = state.runs.map((run, at) => (JSON.stringify(run) === JSON.stringify(last.runs[at]) ? last.runs[at] : run));
      if (state.number !== last.number) render();
      // While runs are read the server answers when there is news; afterwards it is asked now and then.
      const isGoingOn = state.runs.some(run => ['waiting', 'reading'].includes(run.status.is));
      if (!isGoingOn) await new Promise(done => setTimeout(done, 3000));
    } catch (error) {
      get('status').textContent = error.message;
      failed += 1;
      await new Promise(done => setTimeout(done, 1000));
    }
  }
}
for (const button of document.querySelectorAll('#tabs button')) button.onclick = () => { view.tab = button.dataset.tab; view.step(); render(); };
get('run').onchange = event => {
  view.run = Number(event.target.value);
  [view.from, view.until, view.lanes, view.folded] = [null, null, null, []];
  get('picked').replaceChildren();
  view.step();
  render();
};
get('compare-them').onclick = () => { [view.base, view.after] = [Number(get('base').value), Number(get('after').value)]; view.step(); render(); };
addEventListener('popstate', () => { view.read(); lanes.run = null; render(); });
equipLaneChoice(lanes);
query.equip();
follow();
