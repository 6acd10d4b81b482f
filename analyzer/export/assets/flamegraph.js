// The picture used: a click widens a frame, / or a click on "search" marks names, Escape undoes both.
(() => {
  const [MARGIN, WIDTH, CHARACTER] = [10, 1180, 6.6];
  const svg = document.currentScript?.ownerSVGElement ?? document.querySelector('svg');
  const at = (element, name) => parseFloat(element.getAttribute(name));
  const frames = [...svg.querySelectorAll('g')].map(g => {
    const rect = g.querySelector('rect');
    const title = g.querySelector('title').textContent;
    return { g, rect, text: g.querySelector('text'), name: title.slice(0, title.lastIndexOf(': ')), x: at(rect, 'x'), y: at(rect, 'y'), width: at(rect, 'width'), fill: rect.getAttribute('fill') };
  });
  const [found, search] = ['found', 'search'].map(id => svg.querySelector('.' + id));
  // Of a frame the place and the name that fits; what stands around the chosen one is pale and as wide as the picture.
  const place = (frame, x, width, pale) => {
    frame.g.style.display = width < 0.1 ? 'none' : '';
    if (width < 0.1) return;
    frame.rect.setAttribute('x', x.toFixed(2));
    frame.rect.setAttribute('width', width.toFixed(2));
    frame.g.setAttribute('opacity', pale ? 0.5 : 1);
    const room = Math.floor((width - 6) / CHARACTER);
    if (!frame.text && room < 3) return;
    if (!frame.text) {
      frame.text = frame.g.appendChild(document.createElementNS(svg.namespaceURI, 'text'));
      frame.text.setAttribute('y', frame.y + 12);
    }
    const letters = [...frame.name];
    frame.text.textContent = room < 3 ? '' : letters.length <= room ? frame.name : letters.slice(0, room - 1).join('') + '…';
    frame.text.setAttribute('x', x + 3);
  };
  const zoom = of => {
    const scale = of ? WIDTH / of.width : 1;
    for (const frame of frames) {
      const middle = frame.x + frame.width / 2;
      const around = of && frame.y < of.y && frame.x <= of.x + 0.01 && frame.x + frame.width >= of.x + of.width - 0.01;
      const inside = !of || (frame.y >= of.y && middle > of.x && middle < of.x + of.width);
      if (around) place(frame, MARGIN, WIDTH, true);
      else place(frame, of ? MARGIN + (frame.x - of.x) * scale : frame.x, inside ? frame.width * scale : 0, false);
    }
  };
  // Names that hold a text, and their share: what lies in another match counts once.
  const mark = text => {
    const needle = (text ?? '').trim().toLowerCase();
    const matches = needle ? frames.filter(frame => frame.name.toLowerCase().includes(needle)) : [];
    for (const frame of frames) frame.rect.setAttribute('fill', frame.fill);
    for (const frame of matches) frame.rect.setAttribute('fill', '#b070ff');
    let [sum, reached] = [0, 0];
    for (const frame of matches.sort((a, b) => a.x - b.x || b.width - a.width)) {
      sum += Math.max(0, frame.x + frame.width - Math.max(reached, frame.x));
      reached = Math.max(reached, frame.x + frame.width);
    }
    found.textContent = needle ? `${matches.length} frames, ${(sum / WIDTH * 100).toFixed(1)} %` : '';
  };
  const ask = () => { const text = prompt('Names that contain'); if (text !== null) mark(text); };
  for (const frame of frames) frame.g.addEventListener('click', () => zoom(frame));
  search.style.display = '';
  search.addEventListener('click', ask);
  addEventListener('keydown', event => {
    if (event.key === 'Escape') { zoom(null); mark(''); }
    if (event.key === '/' && !event.ctrlKey && !event.metaKey) { event.preventDefault(); ask(); }
  });
  zoom(null);
  svg.flamegraph = { frames, zoom, mark };
})();
