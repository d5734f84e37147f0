'use strict';
// Zoom, search and keyboard for the flame graph. The picture is whole without it: here boxes are
// moved and texts cut anew, from the places that the file gives them.
(() => {
  const svg = document.documentElement, find = (id) => document.getElementById(id);
  const rowHeight = 18, pad = 10, letter = 6.7, fullWidth = +svg.getAttribute('width') - 2 * pad;
  const top = +find('frames').dataset.top;
  const frames = [];
  let zoomed = null, current = null, detailColumns = 100;

  const path = [];
  for (const g of find('frames').children) {
    const rect = g.querySelector('rect');
    const [label, ...rest] = g.querySelector('title').textContent.split('\n');
    const x = (+rect.getAttribute('x') - pad) / fullWidth;
    const depth = Math.round((+rect.getAttribute('y') - top) / rowHeight);
    const frame = {
      g, rect, text: g.querySelector('text'), label, rest: rest.join('  '), depth, x,
      end: x + +rect.getAttribute('width') / fullWidth, parent: depth ? path[depth - 1] : null,
      short: label.replace(/ \([^()]*\)$/, ''), children: [],
    };
    if (frame.parent) frame.parent.children.push(frame);
    path[depth] = frame;
    frames.push(frame);
    g.addEventListener('click', () => zoom(frame));
    g.addEventListener('mouseenter', () => tell(frame));
  }
  const root = frames[0];

  const cut = (text, columns) => {
    const letters = [...text];
    if (columns < 3) return '';
    return letters.length <= columns ? text : letters.slice(0, columns - 1).join('') + '…';
  };

  const tell = (frame) => {
    find('detail').textContent = cut(`${frame.rest}   ${frame.label}`, detailColumns);
  };

  // The zoomed frame and its callers fill the width; what is not below or above is hidden.
  const lay = () => {
    const width = Math.max(320, svg.clientWidth || window.innerWidth) - 2 * pad;
    const base = zoomed || root, scale = width / (base.end - base.x || 1);
    const above = new Set();
    find('controls').setAttribute('transform', `translate(${Math.max(640, width - 240 + pad)} 0)`);
    detailColumns = Math.floor((Math.max(640, width - 240) - pad) / 6.5);
    for (let f = base.parent; f; f = f.parent) above.add(f);
    for (const frame of frames) {
      const isAbove = above.has(frame), g = frame.g;
      const left = isAbove ? 0 : (frame.x - base.x) * scale;
      const right = isAbove ? width : (frame.end - base.x) * scale;
      const inside = isAbove || (frame.depth >= base.depth && frame.x >= base.x - 1e-9 &&
        frame.end <= base.end + 1e-9);
      g.style.display = inside ? '' : 'none';
      g.classList.toggle('above', isAbove);
      if (!inside) continue;
      frame.rect.setAttribute('x', pad + left);
      frame.rect.setAttribute('width', Math.max(0.3, right - left));
      if (frame.text) {
        frame.text.setAttribute('x', pad + left + 4);
        frame.text.textContent = cut(frame.short, Math.floor((right - left - 8) / letter));
      }
    }
  };

  const select = (frame) => {
    if (!frame) return;
    if (current) current.g.classList.remove('at');
    current = frame;
    frame.g.classList.add('at');
    tell(frame);
    frame.rect.scrollIntoView({ block: 'nearest' });
  };

  const zoom = (frame) => {
    zoomed = frame === root ? null : frame;
    select(frame);
    lay();
  };

  const search = (words) => {
    let pattern = null;
    try {
      pattern = words ? new RegExp(words, 'i') : null;
    } catch {
      pattern = new RegExp(words.replace(/[^\w]/g, '\\$&'), 'i');
    }
    svg.classList.toggle('searching', !!pattern);
    // A match below a match is the same time: it is counted once.
    let share = 0, count = 0, until = -1;
    for (const frame of frames) {
      const hit = !!pattern && !frame.g.classList.contains('thin') && pattern.test(frame.label);
      frame.g.classList.toggle('hit', hit);
      if (!hit) continue;
      count++;
      if (frame.x < until - 1e-9) continue;
      share += frame.end - frame.x;
      until = frame.end;
    }
    find('found').textContent = pattern ? `${count} boxes, ${(100 * share).toFixed(1)} %` : '';
  };

  const wider = (a, b) => (a && a.end - a.x >= b.end - b.x ? a : b);

  const beside = (frame, step) => {
    const row = frames.filter((f) => f.depth === frame.depth && f.g.style.display !== 'none');
    return row[row.indexOf(frame) + step];
  };

  const input = find('search');
  input.addEventListener('input', () => search(input.value));
  window.addEventListener('resize', lay);
  window.addEventListener('keydown', (event) => {
    const typing = document.activeElement === input;
    const at = current || root;
    const moves = {
      ArrowUp: () => select(at.parent),
      ArrowDown: () => select(at.children.reduce(wider, null)),
      ArrowLeft: () => select(beside(at, -1)),
      ArrowRight: () => select(beside(at, 1)),
      Enter: () => zoom(at),
      '/': () => input.focus(),
    };
    if (event.key === 'Escape') {
      if (input.value) search(input.value = '');
      else zoom(root);
      input.blur();
    } else if (typing || !moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else {
      moves[event.key]();
    }
    event.preventDefault();
  });
  find('controls').style.display = '';
  svg.setAttribute('width', '100%');
  lay();
})();
