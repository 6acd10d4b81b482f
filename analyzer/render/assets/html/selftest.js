// With #selftest in its address the page uses itself as a reader would, and writes what failed.
async function selftest() {
  const failed = [];
  let checks = 0;
  const check = (holds, what) => { checks++; if (!holds) failed.push(what); };
  const frame = () => new Promise(done => setTimeout(done, 20));
  const cells = (shown, column) => [...shown.table.tBodies[0].rows].map(row => row.cells[column]?.textContent);

  // Numbers of the first rows, written by the program, must be those the script shows.
  for (const details of document.querySelectorAll('details')) details.open = true;
  await frame();
  for (const [id, shown] of tables) {
    const { data, table } = shown;
    if (!table || data.rows === 0) continue;
    const rows = asWritten.get(id);
    data.columns.forEach((column, at) => {
      // Points in time take the unit of all rows, which the first ones may not know.
      if (column.u === 'at') return;
      rows.forEach((row, n) => check(row[at] === shown.show[at](column.c[n]), `${id} ${column.n} row ${n}: ${row[at]} is shown as ${shown.show[at](column.c[n])}`));
    });
    if (data.rows < 2) continue;
    for (const [at, column] of data.columns.entries()) {
      for (const sort of ['first', 'second']) {
        shown.heads[at].querySelector('button').click();
        const way = shown.heads[at].getAttribute('aria-sort');
        const values = shown.order.map(row => shown.value(at, row)).filter(value => value !== null);
        const sorted = values.every((value, n) => n === 0 || (way === 'ascending' ? values[n - 1] <= value : values[n - 1] >= value));
        check(sorted && way, `${id} ${column.n}: not sorted ${way} at the ${sort} click`);
        check(cells(shown, at)[0] === shown.show[at](column.c[shown.order[0]]), `${id} ${column.n}: the first row shown is not the first one`);
      }
    }
    if (!shown.input) continue;
    const text = data.columns.findIndex(column => column.k === 't');
    const type = async value => { shown.input.value = value; shown.input.dispatchEvent(new Event('input', { bubbles: true })); await frame(); };
    if (text >= 0 && data.columns[text].c[0] !== null) {
      const needle = DATA.texts[data.columns[text].c[0]];
      await type(needle);
      const rows = [...shown.table.tBodies[0].rows];
      // A name that is shown in short has its full text as title.
      const told = row => [row.textContent, ...[...row.querySelectorAll('[title]')].map(cell => cell.title)].join('\n');
      check(rows.length > 0 && rows.every(row => told(row).toLowerCase().includes(needle.trim().toLowerCase())), `${id}: filter ${needle} keeps other rows`);
      const expected = Array.from({ length: data.rows }, (_, row) => row).filter(row => data.columns.some((column, at) => `${shown.show[at](column.c[row])}\n${column.k === 't' ? DATA.texts[column.c[row]] ?? '' : ''}`.toLowerCase().includes(needle.trim().toLowerCase()))).length;
      check(shown.order.length === expected, `${id}: filter ${needle} keeps ${shown.order.length} rows, not ${expected}`);
    }
    await type('no row has this text \u0001');
    check(shown.order.length === 0 && shown.table.textContent.includes('no row matches'), `${id}: a filter that matches nothing leaves rows`);
    await type('');
    check(shown.order.length === data.rows, `${id}: clearing the filter does not bring all rows back`);
  }

  if (DATA.timeline) {
    check(timeline !== null, 'there is no timeline');
    const span = () => timeline.until - timeline.from;
    const key = async name => { timeline.box.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true })); await frame(); };
    const whole = span();
    const coloured = () => {
      timeline.draw();
      const { data } = timeline.canvas.getContext('2d', { willReadFrequently: true }).getImageData(0, 0, timeline.canvas.width, timeline.canvas.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) if (Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 40) count++;
      return count;
    };
    check(coloured() > 50, `the timeline shows ${coloured()} coloured pixels`);
    const first = timeline.range.textContent;
    await key('+');
    check(span() < whole * 0.6, 'the timeline does not zoom by key');
    timeline.draw();
    check(timeline.range.textContent !== first, 'the range that is told does not follow');
    const from = timeline.from;
    await key('ArrowLeft');
    check(timeline.from < from, 'the timeline does not move by key');
    const was = span();
    timeline.canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -1, ctrlKey: true, bubbles: true, cancelable: true }));
    check(span() < was, 'the timeline does not zoom by wheel');
    document.querySelector('.controls [data-do=all]').click();
    check(Math.abs(span() - whole) < 1e-6 * whole, 'the timeline does not show all again');
    const button = document.querySelector('button.place[data-from]');
    if (button) {
      button.click();
      check(timeline.from <= Number(button.dataset.from) && timeline.until >= Math.min(Number(button.dataset.until), DATA.timeline.until), 'the place of a finding is not shown');
      check(span() < whole || Number(button.dataset.until) - Number(button.dataset.from) > whole / 2.3, 'the place of a finding is not zoomed to');
    }
    if (timeline.path.size > 0) {
      const toggle = document.getElementById('path-toggle');
      timeline.all();
      timeline.draw();
      const [row, of] = timeline.strips()[0];
      const widest = [...of.start.keys()].reduce((best, i) => of.end[i] - of.start[i] > of.end[best] - of.start[best] ? i : best, 0);
      timeline.look(of.start[widest], of.end[widest]);
      const x = (timeline.gutter + timeline.width) / 2;
      const y = timeline.strip(row) + 2;
      const inked = () => { timeline.draw(); return [...timeline.canvas.getContext('2d').getImageData(Math.round(x * timeline.density), Math.round(y * timeline.density), 1, 1).data].join(); };
      const shown = inked();
      check(timeline.at(x, y)?.startsWith('critical path'), 'the timeline tells nothing of the critical path');
      check(toggle.getAttribute('aria-pressed') === 'true', 'the critical path is not shown at first');
      await key('c');
      check(toggle.getAttribute('aria-pressed') === 'false' && inked() !== shown, 'a key does not hide the critical path');
      toggle.click();
      check(toggle.getAttribute('aria-pressed') === 'true' && inked() === shown, 'a click does not bring the critical path back');
    }
    for (const row of timeline.rows.filter(row => row.curve)) {
      timeline.all();
      const { times, values, high } = row.curve;
      const at = values.indexOf(high);
      timeline.box.scrollTop = row.y;
      const words = timeline.at(timeline.x((times[at] + (times[at + 1] ?? timeline.data.until)) / 2), row.y - timeline.box.scrollTop + 5);
      check(words?.startsWith(`${row.lane}: `) || row.lane === words, `the curve ${row.lane} tells ${words}`);
      timeline.box.scrollTop = 0;
    }
    const { picked } = timeline;
    const filled = timeline.rows.find(row => row.start.length > 0);
    if (filled) {
      timeline.all();
      const name = timeline.data.names[filled.name[0]];
      const input = document.getElementById('highlight');
      input.value = name;
      input.dispatchEvent(new Event('input', { bubbles: true }));
      const wanted = name.trim().toLowerCase();
      const holding = timeline.rows.reduce((sum, row) => sum + [...row.name].filter(of => timeline.data.names[of].toLowerCase().includes(wanted)).length, 0);
      check(picked.matches.length === holding && holding > 0, `a search finds ${picked.matches.length} of ${holding}`);
      // A reader types a name, and goes on with n and N from where the focus is.
      const type = async name => { document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true })); await frame(); };
      const told = () => document.getElementById('found').textContent;
      input.focus();
      await type('Enter');
      const { row, i } = picked.place(picked.number);
      check(timeline.from <= row.start[i] && row.end[i] <= timeline.until, 'the first match is not brought into sight');
      check(document.getElementById('picked').textContent.includes(timeline.data.names[row.name[i]]), 'nothing is told of the chosen interval');
      check(told().startsWith('1 of '), 'the number of the match is not shown');
      check(document.activeElement === timeline.box, 'Enter does not leave the search for the lanes');
      const count = picked.matches.length;
      await type('n');
      check(told() === `${integer(String(count > 1 ? 2 : 1))} of ${integer(String(count))}`, `n does not go to the next match: ${told()}`);
      await type('N');
      check(told().startsWith('1 of '), `N does not go to the match before: ${told()}`);
      document.querySelector('.controls [data-do=next]').focus();
      await type('N');
      check(told() === `${integer(String(count))} of ${integer(String(count))}`, `N does not work from a button: ${told()}`);
      document.activeElement.blur();
      await type('n');
      check(told().startsWith('1 of '), `n does not work without a focus: ${told()}`);
      await type('/');
      check(document.activeElement === input, '/ does not lead to the search');
      await type('Escape');
      check(document.activeElement === timeline.box && input.value === name && timeline.lit, 'Escape does not leave the search field, or ends the search');
      await key(',');
      await key('.');
      await key('a');
      await key('w');
      await key('m');
      const [low, high] = picked.range;
      const { byLane, byName } = picked.sums(low, high);
      const sum = of => of.reduce((all, one) => all + one[1], 0);
      check(Math.abs(sum(byLane) - sum(byName)) <= 1e-6 * (high - low), 'sums by lane and by name differ');
      check(byLane.every(of => of[1] <= (high - low) * (1 + 1e-9)), 'a lane is busy for longer than the part that was chosen');
      await key('Escape');
      check(picked.range === null && document.getElementById('picked').textContent === '', 'a key does not end the choice');
      const tall = timeline.height;
      await type('Escape');
      check(timeline.lit === null && input.value === '', 'Escape on the lanes does not end the search');
      await key('f');
      check(timeline.height < tall || timeline.rows.every(row => row.depth === 0), 'lanes do not fold');
      await key('f');
      check(timeline.height === tall, 'lanes do not unfold');
      timeline.find(name);
      check(timeline.lit && document.activeElement === timeline.box, 'a name that is searched from a table leaves the keys elsewhere');
      input.value = '';
      input.dispatchEvent(new Event('input', { bubbles: true }));
      check(timeline.lit === null, 'clearing the search leaves it');
    }
    for (const [to, from] of picked.causes) check(from.every(one => picked.effects.get(one)?.includes(to)), `interval ${to} has a cause that did not lead to it`);
    await key('?');
    check(document.getElementById('keys').open, 'the keys are not told');
    document.getElementById('keys').close();
    const words = timeline.rows.some(row => row.start.length > 0 && (timeline.look(row.start[0], row.end[0]), timeline.at((timeline.gutter + timeline.width) / 2, row.y - timeline.box.scrollTop + 5)));
    check(words || DATA.timeline.rows.every(row => row.n === 0), 'the timeline tells nothing of what is pointed at');
    timeline.all();
  }

  for (const icon of document.querySelectorAll('td button.place')) {
    const sign = icon.querySelector('svg')?.getBoundingClientRect();
    check(sign?.width > 8 && sign.height > 8 && icon.getAttribute('aria-label'), 'a button beside a row shows no sign, or has no name');
  }

  // On paper: what is folded is open, the timeline a picture, and afterwards all is as it was.
  const details = document.querySelector('details');
  if (details) details.open = false;
  const folded = document.querySelectorAll('details:not([open])').length;
  dispatchEvent(new Event('beforeprint'));
  check(document.querySelectorAll('details:not([open])').length === 0, 'what is folded stays so on paper');
  const picture = document.getElementById('printed');
  if (timeline) {
    check(picture.querySelectorAll('svg > svg rect').length > 0 || DATA.timeline.rows.every(row => row.n === 0), 'the timeline is not on paper');
    check(picture.textContent.includes(timeline.rows[0].lane.slice(0, 3)), 'no lane of the timeline is named on paper');
    const [low, high] = [timeline.paperWidth, timeline.width];
    check(low === undefined && high === timeline.canvas.clientWidth, 'the timeline has the width of paper');
  }
  dispatchEvent(new Event('afterprint'));
  check(document.querySelectorAll('details:not([open])').length === folded && !picture?.firstChild, 'the page is not as it was before it was printed');

  const charts = [...document.querySelectorAll('svg.chart')];
  for (const chart of charts) {
    const name = chart.getAttribute('aria-label');
    const size = chart.getBoundingClientRect();
    check(size.width > 200 && size.height > 30, `chart ${name} is ${size.width} by ${size.height}`);
    const texts = [...chart.querySelectorAll('text')].filter(text => text.textContent.trim());
    check(texts.length > 0, `chart ${name} has no text`);
    const boxes = texts.map(text => text.getBoundingClientRect());
    check(boxes.every(box => box.width > 0 && box.height > 6), `chart ${name} has text that cannot be read`);
    boxes.forEach((a, i) => {
      check(a.left >= size.left - 2 && a.right <= size.right + 2 && a.top >= size.top - 2 && a.bottom <= size.bottom + 2, `chart ${name}: "${texts[i].textContent.trim()}" leaves the chart`);
      boxes.slice(i + 1).forEach((b, j) => {
        const over = Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
        check(!over, `chart ${name}: "${texts[i].textContent.trim()}" lies on "${texts[i + 1 + j].textContent.trim()}"`);
      });
    });
    const mark = chart.querySelector('.marks rect');
    if (mark) check(told(mark), `chart ${name}: a mark tells nothing`);
  }
  check(document.documentElement.scrollWidth <= innerWidth + 1, `the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
  const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
  check(new Set(ids).size === ids.length, 'two elements have one id');
  for (const link of document.querySelectorAll('a[href^="#"]')) check(document.getElementById(link.getAttribute('href').slice(1)), `${link.getAttribute('href')} leads nowhere`);
  const page = () => getComputedStyle(document.body).backgroundColor;
  const first = page();
  document.getElementById('theme').click();
  check(page() !== first, 'the theme does not change');
  document.getElementById('theme').click();
  check(page() === first, 'the theme does not change back');
  check(problems.length === 0, `errors: ${problems.join('; ')}`);
  const result = { ok: failed.length === 0, checks, tables: tables.size, charts: charts.length, timeline: timeline !== null, failed: failed.slice(0, 20) };
  document.body.append(make('pre', { id: 'selftest', textContent: JSON.stringify(result) }));
}
if (location.hash === '#selftest') selftest().catch(error => document.body.append(make('pre', { id: 'selftest', textContent: JSON.stringify({ ok: false, failed: [String(error), String(error.stack)] }) })));
