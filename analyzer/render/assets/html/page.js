// Tooltips, the theme, places on the timeline, printing; and the start of it all.
const tipBox = document.getElementById('tip');
function tip(text, x = 0, y = 0) {
  tipBox.hidden = !text;
  if (!text) return;
  tipBox.textContent = text;
  const size = tipBox.getBoundingClientRect();
  tipBox.style.left = Math.max(4, Math.min(x + 14, innerWidth - size.width - 8)) + 'px';
  tipBox.style.top = (y + 18 + size.height > innerHeight ? Math.max(4, y - size.height - 10) : y + 18) + 'px';
}

// A mark's own title would show beside ours.
function told(mark) {
  const title = mark.querySelector('title');
  if (title) { mark.dataset.tip = title.textContent; title.remove(); }
  return mark.dataset.tip;
}
function equipCharts() {
  for (const chart of document.querySelectorAll('svg.chart')) {
    const marks = [...chart.querySelectorAll('.marks rect')];
    chart.addEventListener('pointermove', event => {
      const mark = event.target.closest('.marks rect');
      tip(mark && told(mark), event.clientX, event.clientY);
    });
    chart.addEventListener('pointerleave', () => tip(null));
    if (marks.length === 0) continue;
    chart.setAttribute('tabindex', '0');
    let at = -1;
    const step = to => {
      marks[at]?.classList.remove('at');
      at = (to + marks.length) % marks.length;
      marks[at].classList.add('at');
      const place = marks[at].getBoundingClientRect();
      tip(told(marks[at]), place.right, place.bottom);
    };
    chart.addEventListener('keydown', event => {
      if (event.key === 'ArrowRight') step(at + 1);
      else if (event.key === 'ArrowLeft') step(at < 0 ? -1 : at - 1);
      else if (event.key === 'Escape') tip(null);
      else return;
      event.preventDefault();
    });
    chart.addEventListener('blur', () => { marks[at]?.classList.remove('at'); at = -1; tip(null); });
  }
}

function equipTheme() {
  // Where a page may not keep anything, the choice lasts as long as the page.
  const kept = { get: () => { try { return localStorage.getItem('trueno-theme'); } catch { return null; } }, set: value => { try { localStorage.setItem('trueno-theme', value); } catch { /* not kept */ } } };
  const root = document.documentElement;
  if (['light', 'dark'].includes(kept.get())) root.dataset.theme = kept.get();
  document.getElementById('theme').onclick = () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    kept.set(root.dataset.theme);
    timeline?.draw();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => timeline?.draw());
}

// A link to something that is folded away opens it.
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let around = target; around; around = around.parentElement) if (around.tagName === 'DETAILS') around.open = true;
  target.scrollIntoView();
}

const timeline = DATA.timeline && document.getElementById('lanes') ? new Timeline(DATA.timeline) : null;
equipTables();
equipCharts();
equipTheme();
for (const button of document.querySelectorAll('button.place[data-from]')) {
  if (timeline) button.onclick = () => timeline.go(Number(button.dataset.from), Number(button.dataset.until));
  else button.hidden = true;
}
addEventListener('hashchange', reveal);
equipPrint();
if (location.hash && location.hash !== '#selftest') reveal();
