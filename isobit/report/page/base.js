// What all parts share. Everything out of the data becomes text of elements, never markup.
const data = JSON.parse(document.getElementById('data').textContent);
const main = document.querySelector('main');
const svgSpace = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') element.textContent = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}
const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS(svgSpace, tag), attributes, children);

function section(id, title, ...children) {
  const element = make('section', {id, 'aria-labelledby': id + '-title'}, make('h2', {id: id + '-title', text: title}),
                       ...children);
  main.append(element);
  return element;
}

// Class 1, 2, ...: a colour and always the number, so that the colour is never all there is.
const colourOf = k => (k === 0 ? 0 : (k - 1) % 8 + 1);
const badge = k => make('span', {class: 'badge k' + colourOf(k), text: k === 0 ? '–' : k});
const plural = (n, one, many) => n + ' ' + (n === 1 ? one : many);
const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + '…' : text);
const labelOf = p => data.platforms[p].name;
const names = list => list.map(labelOf).join(', ');
const number = x => (x === null || x === undefined ? '–' : Number.isInteger(x) ? String(x) : x.toPrecision(3));
const shape = dims => (dims.length === 0 ? 'scalar' : dims.join('×'));

// The precision that a value keeps over all platforms: all bits where no platform differs, null where not known.
function precisionOf(value) {
  if (value.bits === undefined) return null;
  if (value.classes === 1) return value.bits;
  return value.figures ? value.figures.remaining_precision : null;
}

// The replay of each value, by its place in the data.
const replayOf = new Map(((data.causes || {}).replays || []).filter(r => r.value !== null).map(r => [r.value, r]));

// Who wants to know which value is chosen.
const listeners = [];
let chosen = null;
function choose(value, from) {
  chosen = value;
  for (const listener of listeners) listener(value, from);
}
const valuesOfNode = new Map();
data.values.forEach((value, i) => {
  if (value.node === undefined) return;
  if (!valuesOfNode.has(value.node)) valuesOfNode.set(value.node, []);
  valuesOfNode.get(value.node).push(i);
});
