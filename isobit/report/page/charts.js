// Charts over the layers, the dendrogram of the classes and the heat map of pairs.
function layerChart() {
  const values = data.values, n = values.length;
  if (n === 0) return;
  const width = 1120, left = 44, right = 12, tall = 120, gap = 40, top = 18, inner = width - left - right;
  const most = Math.max(2, ...values.map(v => v.classes));
  const bits = Math.max(1, ...values.map(v => v.bits || 0));
  const x = i => left + (n === 1 ? inner / 2 : i * inner / (n - 1));
  const y1 = k => top + tall - (k - 1) * tall / (most - 1);
  const y2 = b => top + tall + gap + tall - b * tall / bits;
  let steps = '', dots = [], unknown = 0;
  values.forEach((v, i) => {
    steps += (i === 0 ? 'M' : 'L') + x(i).toFixed(1) + ' ' + y1(v.classes).toFixed(1);
    const b = precisionOf(v);
    if (b === null) unknown += v.classes > 1;
    else dots.push(draw('circle', {class: 'dots', cx: x(i).toFixed(1), cy: y2(b).toFixed(1), r: n > 300 ? 1.5 : 2.5}));
  });
  const height = top + 2 * tall + gap + 24;
  const lowest = Math.min(...values.map(v => precisionOf(v) ?? bits));
  const svg = draw('svg', {class: 'chart', id: 'layer-chart', viewBox: `0 0 ${width} ${height}`, width, role: 'img',
    'aria-label': `Over ${n} values in execution order: at most ${most} classes, least remaining precision ${lowest} of ` +
        `${bits} bits. The same figures are in the table of operators.`});
  const tick = (y, text) => svg.append(draw('line', {class: 'axis', x1: left, x2: width - right, y1: y, y2: y}),
                                       draw('text', {class: 'dim', x: left - 6, y: y + 4, 'text-anchor': 'end', text}));
  svg.append(draw('text', {x: left, y: 12, text: 'Classes'}),
             draw('text', {x: left, y: top + tall + gap - 8, text: 'Remaining precision, bits'}),
             draw('text', {class: 'dim', x: width - right, y: height - 6, 'text-anchor': 'end', text: 'execution order →'}));
  for (const k of new Set([1, Math.round((1 + most) / 2), most])) tick(y1(k), k);
  for (const b of new Set([0, Math.round(bits / 2), bits])) tick(y2(b), b);
  svg.append(draw('path', {class: 'steps', d: steps}), ...dots);
  if (data.first_introduced !== null) {
    const at = x(data.first_introduced), late = at > width * 0.7;
    svg.append(draw('line', {class: 'first', x1: at, x2: at, y1: top, y2: height - 20}),
               draw('text', {class: 'first-label', x: at + (late ? -5 : 5), y: top + tall + 16,
                             'text-anchor': late ? 'end' : 'start', text: 'first introduced'}));
  }
  const cursor = draw('line', {class: 'cursor', y1: top, y2: height - 20, visibility: 'hidden'});
  svg.append(cursor);
  svg.addEventListener('click', event => {
    const box = svg.getBoundingClientRect();
    const at = (event.clientX - box.left) * width / box.width;
    choose(Math.max(0, Math.min(n - 1, Math.round((at - left) * (n - 1) / inner))), 'chart');
  });
  listeners.push(i => {
    cursor.setAttribute('x1', x(i));
    cursor.setAttribute('x2', x(i));
    cursor.setAttribute('visibility', 'visible');
  });
  section('layers', 'Layer by layer',
          make('figure', {class: 'layers'}, svg, make('figcaption', {text: 'Above: into how many classes the platforms fall at ' +
              'each value. Below: how many leading bits of the significand agree in all elements and on all platforms' +
              (unknown ? `; not known at ${unknown} values whose tensors were not kept or were too large to be compared` : '') +
              '. Choose a point to see that operator.'})));
}

function dendrogram() {
  const classes = data.classes.length;
  if (data.dendrogram.length === 0 || classes < 2) return null;
  const bits = data.bits || 23, rowHeight = 26, left = 8, span = 300, labels = 40, top = 30;
  const x = similarity => left + similarity * span / bits;
  const at = new Map();
  // Leaves in the order in which the tree has them, so that no lines cross.
  const children = new Map(data.dendrogram.map((m, i) => [classes + i, m]));
  const order = [], open = [classes + data.dendrogram.length - 1];
  while (open.length > 0) {
    const cluster = open.pop(), m = children.get(cluster);
    if (m) open.push(m.right, m.left);
    else order.push(cluster);
  }
  order.forEach((k, i) => at.set(k, {x: x(bits), y: top + rowHeight * (i + 0.5)}));
  const height = top + rowHeight * classes + 24;
  const svg = draw('svg', {id: 'dendrogram', width: left + span + labels, height, role: 'img',
    'aria-label': 'Dendrogram of the classes: ' + data.dendrogram.map((m, i) =>
        `cluster ${classes + i + 1} of ${m.left + 1} and ${m.right + 1} at ${m.remaining_precision} bits`).join('; ')});
  for (const b of [0, Math.round(bits / 2), bits]) {
    svg.append(draw('line', {class: 'axis', x1: x(b), x2: x(b), y1: top - 8, y2: height - 20}),
               draw('text', {class: 'dim', x: x(b), y: top - 14, 'text-anchor': b === 0 ? 'start' : 'middle',
                             text: b === 0 ? '0 bits' : b}));
  }
  data.dendrogram.forEach((m, i) => {
    const a = at.get(m.left), b = at.get(m.right), here = x(m.remaining_precision);
    svg.append(draw('path', {class: 'link', d: `M${a.x} ${a.y}H${here}V${b.y}H${b.x}`}));
    at.set(classes + i, {x: here, y: (a.y + b.y) / 2});
  });
  order.forEach((k, i) => svg.append(draw('text', {x: x(bits) + 8, y: top + rowHeight * (i + 0.5) + 4, text: k + 1})));
  return make('figure', {}, svg, make('figcaption', {text: 'Classes of the output, joined where their nearest members agree ' +
      'in that many bits.'}));
}

// Of classes a < b, from 1, whose distance is known.
const pairs = [];
(data.l0.pairs || []).forEach((row, i) => row.forEach((l0, j) => {
  if (j <= i || l0 === null) return;
  const of = matrix => matrix[i][j];
  pairs.push({a: i + 1, b: j + 1, l0, remaining_precision: of(data.remaining_precision.pairs), ulp: of(data.ulp.pairs),
              absolute: of(data.largest_difference.absolute_pairs), relative: of(data.largest_difference.relative_pairs),
              label_flips: of(data.label_flips.pairs)});
}));

function heatMap() {
  const n = data.classes.length;
  if (n < 2 || pairs.length === 0) return null;
  const bits = data.bits || 23, cell = n > 40 ? 14 : n > 20 ? 22 : 30, left = 34, top = 24;
  const svg = draw('svg', {class: 'heat', id: 'heat-map', width: left + n * cell + 8, height: top + n * cell + 8, role: 'img',
    'aria-label': `Remaining precision of each pair of ${n} classes, in bits`});
  const label = k => draw('text', {class: 'dim', x: left + (k - 0.5) * cell, y: 16, text: k});
  for (let k = 1; k <= n; ++k) {
    if (cell >= 22 || k % 5 === 0) {
      svg.append(label(k), draw('text', {class: 'dim', x: 16, y: top + (k - 0.5) * cell + 4, text: k}));
    }
  }
  for (const pair of pairs) {
    const precision = pair.remaining_precision;
    const share = precision === null ? 0 : precision / bits;
    // One hue from dark (far apart) to light (alike): read in any kind of colour vision, and the number is there.
    const colour = precision === null ? 'transparent' : `hsl(205 60% ${Math.round(22 + 66 * share)}%)`;
    for (const [row, column] of [[pair.a, pair.b], [pair.b, pair.a]]) {
      const tile = draw('rect', {x: left + (column - 1) * cell, y: top + (row - 1) * cell, width: cell - 1, height: cell - 1,
                                 fill: colour});
      tile.append(draw('title', {text: `class ${row} and class ${column}: ${number(precision)} bits, ` +
          `${number(pair.ulp)} ulp, largest difference ${number(pair.absolute)}`}));
      svg.append(tile);
      if (cell >= 22) {
        const text = draw('text', {x: left + (column - 0.5) * cell, y: top + (row - 0.5) * cell + 4, text: number(precision)});
        if (precision !== null) text.style.fill = share > 0.5 ? '#10151a' : '#ffffff';
        svg.append(text);
      }
    }
  }
  return make('figure', {}, svg, make('figcaption', {text: 'Leading significand bits in which all elements of the outputs ' +
      'of two classes agree; the lighter, the more alike.'}));
}

function pairTable() {
  const rows = pairs.slice(0, 500).map(p => make('tr', {}, make('th', {scope: 'row'}, badge(p.a), ' ', badge(p.b)),
      ...[p.remaining_precision, p.ulp, p.absolute, p.relative, p.l0, p.label_flips].map(
          v => make('td', {class: 'number', text: number(v)}))));
  const head = ['Classes', 'Bits that agree', 'ulp', 'Absolute', 'Relative', 'Elements that differ', 'Labels that flip'];
  return make('details', {}, make('summary', {text: 'All pairs as a table'}), make('div', {class: 'wide'},
      make('table', {}, make('thead', {}, make('tr', {}, ...head.map(
          (text, i) => make('th', {scope: 'col', class: i > 0 && 'number', text})))), make('tbody', {}, ...rows))));
}

function distances() {
  if (data.classes.length < 2) return;
  const figures = [dendrogram(), heatMap()].filter(f => f !== null);
  if (figures.length === 0) return;
  section('distances', 'How far the outputs lie apart', make('div', {class: 'figures'}, ...figures), pairTable());
}
