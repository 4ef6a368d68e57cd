// Of the platforms that recorded operators eight: those that made something of their own where the first difference is
// introduced, then those of other outputs, then any.
function firstShown() {
  const recorded = data.platforms.map((p, i) => i).filter(i => data.values.some(v => v.of[i] > 0));
  const fork = data.first_introduced === null ? data.first_fork : data.first_introduced;
  const picked = [];
  for (const kind of [p => (fork === null ? 0 : data.values[fork].of[p]), p => data.platforms[p].class, p => 'platform ' + p]) {
    for (const p of recorded) {
      if (picked.length < 8 && !picked.includes(p) && !picked.some(other => kind(other) === kind(p))) picked.push(p);
    }
  }
  return picked.sort((a, b) => a - b);
}

// Every recorded value, a row each, the chosen platforms side by side; rows exist only while they are in view.
const rowHeight = 30;

function operatorGrid() {
  const shownPlatforms = new Set(firstShown());
  let rows = [], current = 0, version = 0;  // version: of the columns
  const head = make('div', {class: 'row head', role: 'row', 'aria-rowindex': 1});
  const body = make('div', {class: 'body', role: 'rowgroup'});
  const grid = make('div', {class: 'grid', id: 'operator-grid', role: 'grid', 'aria-label': 'Operators in execution order',
                            'aria-multiselectable': 'false', tabindex: -1},
                    make('div', {role: 'rowgroup'}, head), body);
  const status = make('span', {id: 'row-count', role: 'status', class: 'dim'});

  function columns() {
    const widths = ['56px', '120px', '210px', '100px', '76px', '56px', '96px', ...[...shownPlatforms].map(() => '116px')];
    grid.style.setProperty('--columns', widths.join(' '));
    const titles = ['#', 'Operator', 'Value', 'Shape', 'Classes', 'Bits', 'Origin', ...[...shownPlatforms].map(labelOf)];
    head.replaceChildren(...titles.map(text => make('span', {role: 'columnheader', title: text},
        ...text.split(/(?=[@/])/).flatMap((part, i) => (i === 0 ? [part] : [make('wbr', {}), part])))));
    grid.setAttribute('aria-colcount', titles.length);
    ++version;
  }

  const keyOf = place => `${place} ${rows[place]} ${version}`;

  function rowOf(place) {
    const i = rows[place], v = data.values[i];
    const cell = (text, name) => make('span', {role: 'gridcell', class: name, title: text, text});
    const row = make('div', {class: 'row', role: 'row', 'aria-rowindex': place + 2, 'data-value': i, 'data-key': keyOf(place)},
        cell(v.step === undefined ? String(i) : v.step + ':' + i), cell(v.op), cell(v.name), cell(shape(v.dims)),
        cell(String(v.classes)), cell(number(precisionOf(v))),
        cell(v.settled || 'same', v.settled === 'introduced' ? 'introduced' : 'dim'),
        ...[...shownPlatforms].map(p => make('span', {role: 'gridcell', 'aria-label':
            labelOf(p) + (v.of[p] ? ': class ' + v.of[p] : ': not recorded')}, badge(v.of[p]))));
    row.style.top = place * rowHeight + 'px';
    return row;
  }

  // Rows that stay in view stay the same elements: what is being clicked or read is never replaced.
  function render() {
    const first = Math.max(0, Math.floor(grid.scrollTop / rowHeight) - 8);
    const last = Math.min(rows.length, first + Math.ceil(grid.clientHeight / rowHeight) + 16);
    const focused = body.contains(document.activeElement);
    const known = new Map([...body.children].map(row => [row.dataset.key, row]));
    const places = [];
    for (let place = first; place < last; ++place) places.push(place);
    // The row that has, or would get, the focus stays there to receive it.
    if (rows.length > 0 && (current < first || current >= last)) places.push(current);
    const wanted = places.map(place => {
      const row = known.get(keyOf(place)) || rowOf(place);
      row.setAttribute('aria-selected', String(rows[place] === chosen));
      row.setAttribute('tabindex', place === current ? 0 : -1);
      return row;
    });
    const stay = new Set(wanted);
    for (const row of known.values()) {
      if (!stay.has(row)) row.remove();
    }
    let next = body.firstChild;
    for (const row of wanted) {
      if (row === next) next = row.nextSibling;
      else body.insertBefore(row, next);
    }
    if (focused) body.querySelector('[tabindex="0"]')?.focus({preventScroll: true});
  }

  function filter(text, kind) {
    const words = text.toLowerCase();
    rows = [];
    data.values.forEach((v, i) => {
      if (kind === 'forks' && v.classes < 2) return;
      if (kind === 'introduced' && v.settled !== 'introduced') return;
      if (words && !(v.name + ' ' + v.op).toLowerCase().includes(words)) return;
      rows.push(i);
    });
    current = Math.max(0, rows.indexOf(chosen));
    body.style.height = rows.length * rowHeight + 'px';
    grid.setAttribute('aria-rowcount', rows.length + 1);
    status.textContent = plural(rows.length, 'value', 'values');
    render();
  }

  function reveal(place) {
    const top = place * rowHeight, view = grid.clientHeight - head.offsetHeight;
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top + rowHeight > grid.scrollTop + view) grid.scrollTop = top + rowHeight - view;
  }

  grid.addEventListener('scroll', render, {passive: true});
  body.addEventListener('click', event => {
    const row = event.target.closest('.row');
    if (row) choose(Number(row.dataset.value), 'grid');
  });
  body.addEventListener('keydown', event => {
    const page = Math.floor(grid.clientHeight / rowHeight) - 2;
    const to = {ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page, Home: 0,
                End: rows.length - 1}[event.key];
    if (to !== undefined) {
      current = Math.max(0, Math.min(rows.length - 1, to));
      reveal(current);
      render();
    } else if (event.key === 'Enter' || event.key === ' ') choose(rows[current], 'grid');
    else return;
    event.preventDefault();
  });
  listeners.push(i => {
    const place = rows.indexOf(i);
    if (place >= 0) {
      current = place;
      reveal(place);
    }
    render();
  });

  const search = make('input', {type: 'search', id: 'filter', placeholder: 'name or operator'});
  const kind = make('select', {id: 'kind'}, make('option', {value: 'all', text: 'all values'}),
                    make('option', {value: 'forks', text: 'values that differ'}),
                    make('option', {value: 'introduced', text: 'where a difference is introduced'}));
  const update = () => filter(search.value, kind.value);
  search.addEventListener('input', update);
  kind.addEventListener('change', update);
  const next = make('button', {type: 'button', id: 'next-fork', text: 'Next introduced'});
  next.addEventListener('click', () => {
    const from = chosen === null ? -1 : chosen, all = data.values.length;
    for (let k = 1; k <= all; ++k) {
      const i = (from + k + all) % all;
      if (data.values[i].settled === 'introduced') return choose(i, 'button');
    }
  });
  const boxes = make('fieldset', {id: 'platform-choice'}, make('legend', {text: 'Platforms side by side'}));
  data.platforms.forEach((p, i) => {
    const box = make('input', {type: 'checkbox', value: i});
    box.checked = shownPlatforms.has(i);
    box.addEventListener('change', () => {
      if (box.checked) shownPlatforms.add(i);
      else shownPlatforms.delete(i);
      columns();
      render();
    });
    boxes.append(make('label', {}, box, ' ' + p.name));
  });
  const tools = make('div', {class: 'tools'}, make('label', {}, 'Find ', search), make('label', {}, 'Show ', kind), next, status);
  return {grid, tools, boxes, start() {
    columns();
    filter('', 'all');
  }};
}

function members(value, k) {
  return value.of.map((of, p) => (of === k ? p : -1)).filter(p => p >= 0);
}

function details() {
  const pane = make('div', {class: 'details', id: 'details', role: 'region', 'aria-label': 'Details of the chosen operator',
                            'aria-live': 'polite', tabindex: 0},
                    make('p', {class: 'dim', text: 'Choose an operator in the table, the chart or the drawing.'}));
  listeners.push(i => {
    const v = data.values[i], list = make('dl', {});
    const say = (name, value) => list.append(make('dt', {text: name}), make('dd', {text: value}));
    say('operator', (v.op || 'not known') + (v.node === undefined ? '' : ', node ' + v.node));
    if (v.step !== undefined) say('step', v.step);
    say('type', v.dtype + ' ' + shape(v.dims));
    say('classes', v.classes);
    if (v.origin) say('by the records', v.origin + (v.input_classes ? `, ${plural(v.input_classes, 'class', 'classes')} of inputs` : ''));
    if (v.why_unknown) say('why unknown', v.why_unknown);
    if (v.region && v.region.length > 1) say('made in nodes', v.region.join(', '));
    if (v.figures) {
      say('bits that agree', number(v.figures.remaining_precision));
      say('ulp', number(v.figures.ulp));
      say('largest difference', number(v.figures.absolute) + ', relative ' + number(v.figures.relative));
      say('elements that differ', v.figures.differing + ' of ' + v.figures.elements);
    } else if (v.classes > 1) say('distance', 'not known: tensors were not kept, or were too large to be compared');
    if (replayOf.has(i)) say('replayed', replayWords(replayOf.get(i)));
    const parts = [make('h3', {text: v.name}), list];
    for (const groups of v.splits || []) {
      parts.push(make('p', {text: 'Equal inputs, different outputs:'}), make('ul', {}, ...groups.map(g => make('li', {text: names(g)}))));
    }
    v.hashes.forEach((hash, k) => {
      const of = members(v, k + 1), kernels = new Set();
      for (const p of of) {
        if (v.kernel_of && v.kernel_of[p] >= 0) kernels.add(v.kernels[v.kernel_of[p]]);
      }
      parts.push(make('h3', {}, badge(k + 1), ' ' + plural(of.length, 'platform', 'platforms')), make('p', {text: names(of)}),
                 make('p', {class: 'mono dim', text: hash}));
      if (kernels.size > 0) parts.push(make('p', {}, 'kernel: ', make('code', {text: [...kernels].join(', ')})));
    });
    pane.replaceChildren(...parts);
  });
  return pane;
}

function operators() {
  if (data.values.length === 0) {
    section('operators', 'Operators', make('p', {class: 'note', text: 'No run of these labs recorded its operators.'}));
    return;
  }
  const table = operatorGrid();
  section('operators', 'Operators', make('p', {class: 'dim', text: 'In execution order. Platforms with the same number in a ' +
      'row made the same bits. ' + (data.causes ? 'A difference is introduced where records or a replay show that; else its ' +
      'origin is what the replay showed or, without one, what the records say. ' : '') + 'Arrow keys move, Enter shows details.'}), table.boxes, table.tools,
      make('div', {class: 'pane'}, table.grid, details()));
  table.start();
}
