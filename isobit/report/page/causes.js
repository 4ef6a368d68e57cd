// What was replayed and tried on this machine, and the order in which kernels add.
function treeFigure(alike) {
  const t = alike[0], who = names(alike.map(x => x.platform));
  const asked = [...new Set(alike.map(x => x.asked).filter((name, i) => name !== labelOf(alike[i].platform)))];
  const call = (asked.length ? `asked as ${asked.join(', ')}; ` : '') + [...new Set(alike.map(x => x.call))].join(', ');
  const parts = [make('h4', {text: who}), make('p', {text: t.problem || t.words}),
                 make('p', {class: 'dim', text: [call, t.arithmetic].filter(x => x).join('; ')})];
  if (t.svg) {
    // As a picture: nothing in it runs or is asked for.
    parts.push(make('img', {class: 'tree-picture', alt: 'The order of the additions as a tree: ' + t.words,
                            src: 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(t.svg)}));
  }
  return make('div', {class: 'tree'}, ...parts);
}

// Kernels that add alike are shown once.
function treeGroups(trees) {
  const groups = new Map();
  for (const t of trees) {
    const key = t.digest ? t.digest + t.arithmetic : 'none of ' + t.platform;
    groups.set(key, [...(groups.get(key) || []), t]);
  }
  return [...groups.values()];
}

function trialTable(trials) {
  // A platform that is the other one but for the change needs no trial: the replay has shown that their bits differ.
  const result = t => (t.problem ? 'not tried: ' + t.problem : t.is_like ? 'differs in this alone'
      : t.agrees ? 'agree' : t.unchanged ? 'nothing changes' : 'other bits again');
  const rows = trials.map(t => make('tr', {}, make('th', {scope: 'row', text: labelOf(t.changed)}), make('td', {text: t.change}),
      make('td', {text: t.from + ' → ' + t.to}), make('td', {}, t.is_like ? 'nothing more' : make('code', {text: t.platform})),
      make('td', {text: labelOf(t.like)}), make('td', {class: t.agrees && !t.is_like ? 'good' : null, text: result(t)})));
  const head = ['Platform', 'One change', 'From, to', 'Tried', 'Compared with', 'Result'];
  return make('div', {class: 'wide'}, make('table', {id: 'trials'}, make('thead', {},
      make('tr', {}, ...head.map(text => make('th', {scope: 'col', text})))), make('tbody', {}, ...rows)));
}

function treeSection(asked, trees, value) {
  if (trees.length === 0) return [];
  return [make('h3', {text: 'How the kernels add' + (value ? ' that make ' + value : '')}),
          make('p', {class: 'dim', text: 'Asked of each kernel: ' + asked + '.'}),
          make('div', {class: 'trees'}, ...treeGroups(trees).map(treeFigure))];
}

function causes() {
  const c = data.causes;
  if (!c) return;
  const parts = c.words.map(text => make('p', {text}));
  const first = c.earlier ? c.earlier.value : c.first !== null ? c.replays[c.first].value : null;
  if (first !== null) {
    const button = make('button', {type: 'button', id: 'show-cause', text: 'Show that operator'});
    button.addEventListener('click', () => choose(first, 'button'));
    parts.push(make('p', {}, button));
  }
  if (c.earlier) parts.push(...treeSection(c.earlier.asked, c.earlier.trees, data.values[c.earlier.value].name));
  if (c.trials.length > 0) parts.push(make('h3', {text: 'Changes that were tried'}), trialTable(c.trials));
  const replayed = c.first !== null ? c.replays[c.first].value : null;
  parts.push(...treeSection(c.asked, c.trees, replayed === null ? '' : data.values[replayed].name));
  for (const pair of c.again) parts.push(...treeSection(pair.asked, pair.trees, ''));
  section('causes', 'Replayed and tried', ...parts);
}

function replayWords(r) {
  if (r.problem && r.platforms.length === 0) return 'not possible: ' + r.problem;
  const groups = new Map();
  r.platforms.forEach((p, i) => groups.set(r.classes[i], [...(groups.get(r.classes[i]) || []), p]));
  const who = [...groups.values()].map(names).join(' | ');
  if (!r.reproduced) return 'the recorded bits did not come out again';
  return (groups.size > 1 ? 'differs on equal inputs: ' : 'the same on equal inputs: ') + who;
}
