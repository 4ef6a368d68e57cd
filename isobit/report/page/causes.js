// What was replayed and tried on this machine, and the order in which kernels add.
function treeFigure(t) {
  const title = make('h4', {text: labelOf(t.platform)});
  const about = make('p', {text: t.problem || t.words});
  const more = t.arithmetic || t.call ? make('p', {class: 'dim', text: [t.call, t.arithmetic].filter(x => x).join('; ')}) : null;
  if (!t.svg) return make('div', {class: 'tree'}, title, about, more);
  // As a picture: nothing in it runs or is asked for.
  const picture = make('img', {alt: 'The order of the additions as a tree: ' + t.words,
                               src: 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(t.svg)});
  return make('div', {class: 'tree'}, title, about, more, make('div', {class: 'wide tree-picture', tabindex: 0, role: 'group',
      'aria-label': 'Tree of ' + labelOf(t.platform)}, picture));
}

function trialTable(trials) {
  const result = t => (t.problem ? 'not tried: ' + t.problem : t.agrees ? 'agree' : t.unchanged ? 'nothing changes' : 'other bits again');
  const rows = trials.map(t => make('tr', {}, make('th', {scope: 'row', text: labelOf(t.changed)}), make('td', {text: t.change}),
      make('td', {text: t.from + ' → ' + t.to}), make('td', {}, make('code', {text: t.platform})),
      make('td', {text: labelOf(t.like)}), make('td', {class: t.agrees ? 'good' : null, text: result(t)})));
  const head = ['Platform', 'One change', 'From, to', 'Tried', 'Compared with', 'Result'];
  return make('div', {class: 'wide'}, make('table', {id: 'trials'}, make('thead', {},
      make('tr', {}, ...head.map(text => make('th', {scope: 'col', text})))), make('tbody', {}, ...rows)));
}

function causes() {
  const c = data.causes;
  if (!c) return;
  const parts = c.words.map(text => make('p', {text}));
  if (c.first !== null && c.replays[c.first].value !== null) {
    const button = make('button', {type: 'button', id: 'show-cause', text: 'Show that operator'});
    button.addEventListener('click', () => choose(c.replays[c.first].value, 'button'));
    parts.push(make('p', {}, button));
  }
  if (c.trials.length > 0) parts.push(make('h3', {text: 'Changes that were tried'}), trialTable(c.trials));
  if (c.trees.length > 0) {
    parts.push(make('h3', {text: 'How the kernels add'}), make('p', {class: 'dim', text: 'Asked of each kernel: ' + c.asked + '.'}),
               make('div', {class: 'trees'}, ...c.trees.map(treeFigure)));
  }
  section('causes', 'Replayed and tried', ...parts);
}

// The replay of each value, by its place in the data.
const replayOf = new Map(((data.causes || {}).replays || []).filter(r => r.value !== null).map(r => [r.value, r]));
function replayWords(r) {
  if (r.problem && r.platforms.length === 0) return 'not possible: ' + r.problem;
  const groups = new Map();
  r.platforms.forEach((p, i) => groups.set(r.classes[i], [...(groups.get(r.classes[i]) || []), p]));
  const who = [...groups.values()].map(names).join(' | ');
  if (!r.reproduced) return 'the recorded bits did not come out again';
  return (groups.size > 1 ? 'differs on equal inputs: ' : 'the same on equal inputs: ') + who;
}
