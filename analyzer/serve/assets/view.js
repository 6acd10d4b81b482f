// What is looked at, in the part of the address behind #: a link carries it.
const view = {
  tab: 'timeline', run: 0, from: null, until: null, lanes: null, folded: [], sql: '', base: null, after: null, highlight: '',
  read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = name => { const text = given.get(name); return text !== null && /^-?\d{1,15}$/.test(text) ? Number(text) : null; };
    const numbers = name => (given.get(name) ?? '').split(',').filter(text => /^\d{1,6}$/.test(text)).map(Number);
    const tab = given.get('tab');
    this.tab = ['timeline', 'report', 'sql', 'compare'].includes(tab) ? tab : 'timeline';
    this.run = number('run') ?? 0;
    [this.from, this.until] = [number('from'), number('until')];
    if (this.from === null || this.until === null || this.until <= this.from) this.from = this.until = null;
    this.lanes = given.get('lanes') === '' || numbers('lanes').length > 0 ? numbers('lanes') : null;
    this.folded = numbers('folded');
    this.sql = given.get('sql') ?? '';
    [this.base, this.after] = [number('base'), number('after')];
    this.highlight = given.get('highlight') ?? '';
  },
  hash() {
    const out = new URLSearchParams({ tab: this.tab, run: this.run });
    if (this.from !== null) { out.set('from', Math.floor(this.from)); out.set('until', Math.ceil(this.until)); }
    if (this.lanes !== null) out.set('lanes', this.lanes.join(','));
    if (this.folded.length > 0) out.set('folded', this.folded.join(','));
    if (this.sql !== '') out.set('sql', this.sql);
    if (this.base !== null && this.after !== null) { out.set('base', this.base); out.set('after', this.after); }
    if (this.highlight !== '') out.set('highlight', this.highlight);
    return '#' + out;
  },
  // Of moves that follow each other the last one is kept.
  keep() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => history.replaceState(null, '', this.hash()), 150);
  },
  // A step that the browser's own back button undoes.
  step() {
    clearTimeout(this.timer);
    if (this.hash() !== location.hash) history.pushState(null, '', this.hash());
  },
};
view.read();
