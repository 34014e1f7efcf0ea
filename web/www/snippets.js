// Shows the current operation as a program in four languages, to be copied.

const $ = (id) => document.getElementById(id);
const LANGUAGES = ['rust', 'numpy', 'tensorflow', 'command'];

let texts = {};
let chosen = 'rust';

function show() {
  for (const language of LANGUAGES) {
    $(`in-${language}`).setAttribute('aria-selected', String(language === chosen));
    $(`in-${language}`).tabIndex = language === chosen ? 0 : -1;
  }
  $('snippet').setAttribute('aria-labelledby', `in-${chosen}`);
  $('snippet').textContent = texts[chosen] ?? '';
}

export function snippets(next) {
  texts = next;
  show();
}

// Copies a text. The button then shows “Copied” for 1.5 seconds after the last click.
export async function copy(text, button) {
  button.dataset.label ??= button.textContent;
  button.textContent = button.dataset.label;
  await navigator.clipboard.writeText(text);
  clearTimeout(button.dataset.timer);
  button.textContent = 'Copied';
  button.dataset.timer = setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
}

export function connectSnippets() {
  connectTabs(LANGUAGES.map((language) => $(`in-${language}`)), (at) => {
    chosen = LANGUAGES[at];
    show();
  });
  $('copy').addEventListener('click', () => copy(texts[chosen], $('copy')));
}

// Makes a row of tabs usable by mouse and by keys.
export function connectTabs(tabs, open) {
  for (const [at, tab] of tabs.entries()) {
    tab.addEventListener('click', () => open(at));
    tab.addEventListener('keydown', ({ key }) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[key];
      if (to === undefined) return;
      const next = (to + tabs.length) % tabs.length;
      open(next);
      tabs[next].focus();
    });
  }
}

// The parts that all snippets share: the file of x for a shell, and a shape in Rust.
export const file = (name) => {
  const fileName = name.split('/').pop().replace(/\.(webp|gif|avif|bmp|svg)$/i, '.png');
  return /[^\w.-]/.test(fileName) ? `'${fileName.replaceAll("'", "'\\''")}'` : fileName;
};
export const rustShape = (shape) => `&[${shape.join(', ')}]`;
// Returns the name of a file that can hold the result: a picture only if the result has colours.
export const output = ({ image, shape, channels }) => (image && channels >= 3 && shape.length === 3 ? 'result.png' : 'result.npy');
