// The answer in figures, platforms, what separates the classes, and what the report is about.
function facts() {
  const ran = data.platforms.filter(p => p.class > 0).length, differ = data.values.filter(v => v.classes > 1).length;
  const list = make('dl', {class: 'facts'});
  const say = (name, value) => list.append(make('div', {}, make('dt', {text: name}), make('dd', {}, value)));
  say('platforms', ran);
  say('different outputs', data.classes.length);
  const first = data.first_introduced ?? data.first_fork;
  if (first !== null) {
    const v = data.values[first];
    const button = make('button', {type: 'button', id: 'show-first', title: v.name,
                                   text: v.node === undefined ? short(v.name, 28) : `node ${v.node}, ${short(v.op, 20)}`});
    button.addEventListener('click', () => {
      choose(first, 'button');
      document.getElementById('operators').scrollIntoView();
    });
    say(data.first_introduced === null ? 'first difference' : 'first introduced at', button);
  }
  if (data.values.length > 0) say('values that differ', `${differ} of ${data.values.length}`);
  if (data.remaining_precision.least !== null) {
    say('bits of outputs that agree', `${data.remaining_precision.least} of ${data.bits}`);
  }
  document.querySelector('#answer h2').after(list);
}

function platformRow(p) {
  const state = p.error ? 'did not run: ' + p.error
      : p.different_outputs > 1 ? p.different_outputs + ' different outputs in ' + plural(p.runs, 'run', 'runs')
      : plural(p.runs, 'run', 'runs') + (p.changed_by_a_tap ? '; recording changes its output' : '');
  const fields = make('dl', {});
  for (const [name, value] of Object.entries(p.fields)) fields.append(make('dt', {text: name}), make('dd', {text: value}));
  if (p.cores) fields.append(make('dt', {text: 'cores'}), make('dd', {text: p.cores}));
  if (p.cpu_flags) fields.append(make('dt', {text: 'CPU flags'}), make('dd', {text: p.cpu_flags + ' recorded'}));
  return make('tr', {}, make('td', {}, badge(p.class || 0)), make('th', {scope: 'row', text: p.name}),
              make('td', {text: p.engine}), make('td', {text: state}),
              make('td', {}, make('details', {}, make('summary', {text: 'record'}), fields)));
}

function platformTable() {
  const head = make('tr', {}, ...['Class', 'Platform', 'Engine', 'Runs', 'What the record says'].map(
                                  text => make('th', {scope: 'col', text})));
  const order = data.platforms.map((p, i) => i).sort((a, b) => {
    const x = data.platforms[a].class || 1e9, y = data.platforms[b].class || 1e9;
    return x - y || a - b;
  });
  const body = make('tbody', {}, ...order.map(i => platformRow(data.platforms[i])));
  section('platforms', 'Platforms and classes',
          make('p', {class: 'dim', text: 'Platforms of one class have outputs that are the same in every bit.'}),
          make('div', {class: 'wide'}, make('table', {id: 'platform-table'}, make('thead', {}, head), body)));
}

const fieldNames = fields => fields.map(alike => alike.join(' = ')).join(' and ');

function separationTable(title, s) {
  if (!s || s.classes < 2) return [];
  const rows = s.sets.map(set => make('tr', {}, make('th', {scope: 'row', text: fieldNames(set.fields)}),
                                      make('td', {text: (set.exact ? 'one value for each class' : 'separates') +
                                          (set.partial > 0 ? ', if having none is a value' : '')}),
                                      make('td', {class: 'number', text: set.values}),
                                      make('td', {class: 'number', text: set.repeated + ' of ' + s.platforms.length})));
  const parts = [make('h3', {text: title})];
  if (rows.length > 0) {
    const head = ['Fields', 'Classes', 'Values', 'Platforms that share theirs'];
    parts.push(make('div', {class: 'wide'}, make('table', {},
        make('thead', {}, make('tr', {}, ...head.map((text, i) => make('th', {scope: 'col', class: i > 1 && 'number', text})))),
        make('tbody', {}, ...rows))));
  } else {
    parts.push(make('p', {text: s.indistinguishable
        ? names(s.indistinguishable) + ' have the same record and different results: no field separates them.'
        : 'No set of up to three fields separates the classes with several platforms to a value.'}));
  }
  const contrasts = s.contrasts.filter(c => c.differing > 0 || c.agreeing > 0).map(c => make('li', {
    text: c.fields.join(' = ') + ': ' + plural(c.differing, 'pair differs', 'pairs differ') +
        (c.differing_pair ? ' (' + names(c.differing_pair) + ')' : '') + ', ' +
        plural(c.agreeing, 'pair agrees', 'pairs agree') + (c.agreeing_pair ? ' (' + names(c.agreeing_pair) + ')' : '')}));
  if (contrasts.length > 0) {
    parts.push(make('p', {text: 'Platforms whose records differ in one field alone:'}), make('ul', {}, ...contrasts));
  }
  return parts;
}

function separations() {
  const parts = [...separationTable('At the first operator that differs', data.fork_separation),
                 ...separationTable('Of the outputs', data.output_separation)];
  if (parts.length === 0) return;
  section('separation', 'What separates the classes',
          make('p', {class: 'dim', text: 'Fields of the records whose values go with the classes. Fields that separate ' +
              'classes need not be what causes them; fields joined by “=” always change together in these records.'}),
          ...parts);
}

function subject() {
  const s = data.subject;
  const list = make('dl', {});
  const say = (name, value) => {
    if (value) list.append(make('dt', {text: name}), make('dd', {class: 'mono', text: value}));
  };
  say('kind', s.kind);
  say('model', s.model);
  say('SHA-256 of the model', s.model_sha256 || 'not recorded');
  say('SHA-256 of the inputs', s.input_sha256 || 'not recorded');
  say('settings', s.settings);
  section('subject', 'What ran', list);
}
