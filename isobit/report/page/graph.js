// The model's graph, laid out when the report was written.
function stateOf(node) {
  const values = (valuesOfNode.get(node) || []).map(i => data.values[i]);
  if (values.length === 0) return 'silent';
  for (const origin of ['introduced', 'unknown', 'inherited']) {
    if (values.some(v => v.settled === origin)) return origin;
  }
  return 'same';
}

const stateWords = {
  introduced: 'differs on equal inputs', inherited: 'differs as its inputs do',
  unknown: 'differs; origin not known', same: 'the same everywhere', silent: 'not recorded',
};

function drawGraph() {
  const g = data.graph;
  if (g.absent) {
    section('graph', 'The model', make('p', {class: 'note', text: g.absent}));
    return;
  }
  const scale = 72, width = g.width * scale + 16, height = g.height * scale + 16;
  const at = (points, i) => (points[2 * i] * scale + 8).toFixed(1) + ' ' + (points[2 * i + 1] * scale + 8).toFixed(1);
  const svg = draw('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'Graph of the model'});
  let edges = '';
  for (const edge of g.edges) {
    edges += 'M' + at(edge.points, 0);
    for (let i = 1; i + 2 < edge.points.length / 2; i += 3) {
      edges += 'C' + [i, i + 1, i + 2].map(k => at(edge.points, k)).join(' ');
    }
  }
  svg.append(draw('path', {d: edges}));
  const boxes = g.names.map(([op, name], node) => {
    const w = g.node_width * scale, h = g.node_height * scale;
    const x = g.centres[2 * node] * scale + 8 - w / 2, y = g.centres[2 * node + 1] * scale + 8 - h / 2;
    const values = valuesOfNode.get(node) || [], state = stateOf(node);
    const classes = Math.max(0, ...values.map(i => data.values[i].classes));
    const words = `node ${node}, ${op} ${name}: ${stateWords[state]}` + (classes > 1 ? `, ${classes} classes` : '');
    const box = draw('g', {class: 'node ' + state, id: 'node-' + node, role: 'button', tabindex: -1, 'aria-label': words},
        draw('rect', {x, y, width: w, height: h, rx: 4}), draw('title', {text: words}),
        draw('text', {x: x + 8, y: y + 13, text: short(op, 15)}),
        draw('text', {class: 'dim', x: x + 8, y: y + 25, text: short(name, 19)}));
    if (classes > 1) box.append(draw('text', {x: x + w - 8, y: y + 13, 'text-anchor': 'end', text: '×' + classes}));
    svg.append(box);
    return box;
  });
  const frame = make('div', {class: 'drawing', id: 'drawing', tabindex: -1}, svg);
  const show = node => {
    const box = boxes[node].querySelector('rect');
    frame.scrollTo(Number(box.getAttribute('x')) - frame.clientWidth / 2 + 70, Number(box.getAttribute('y')) - 200);
  };
  // One stop of the tab key; the arrows go from node to node.
  let current = 0;
  const focusNode = node => {
    boxes[current].setAttribute('tabindex', -1);
    current = node;
    boxes[node].setAttribute('tabindex', 0);
  };
  const pick = node => {
    const values = valuesOfNode.get(node);
    if (values) choose(values[0], 'graph');
  };
  svg.addEventListener('click', event => {
    const box = event.target.closest('g.node');
    if (!box) return;
    focusNode(boxes.indexOf(box));
    pick(current);
  });
  svg.addEventListener('keydown', event => {
    const move = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key];
    if (move) {
      focusNode(Math.max(0, Math.min(boxes.length - 1, current + move)));
      boxes[current].focus({preventScroll: true});
      show(current);
    } else if (event.key === 'Enter' || event.key === ' ') pick(current);
    else return;
    event.preventDefault();
  });
  listeners.push((i, from) => {
    for (const box of svg.querySelectorAll('.chosen')) box.classList.remove('chosen');
    const node = data.values[i].node;
    if (node === undefined) return;
    boxes[node].classList.add('chosen');
    focusNode(node);
    if (from !== 'graph') show(node);
  });
  const key = make('p', {class: 'states'});
  for (const state of Object.keys(stateWords)) {
    const sample = draw('svg', {width: 26, height: 16, 'aria-hidden': 'true'},
                        draw('g', {class: state}, draw('rect', {x: 2, y: 2, width: 22, height: 12, rx: 3})));
    key.append(make('span', {class: 'key'}, sample, stateWords[state]));
  }
  section('graph', 'The model', key, frame);
  if (boxes.length > 0) focusNode(0);
  const first = data.first_introduced ?? data.first_fork;
  if (first !== null && data.values[first].node !== undefined) show(data.values[first].node);
}
