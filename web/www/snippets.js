// Shows the current operation as a program in four languages, to be copied.

const $ = (id) => document.getElementById(id);
const LANGUAGES = ['rust', 'numpy', 'tensorflow', 'command'];

let textByLanguage = {};
let chosenLanguage = 'rust';

function show() {
  for (const language of LANGUAGES) {
    $(`in-${language}`).setAttribute('aria-selected', String(language === chosenLanguage));
    $(`in-${language}`).tabIndex = language === chosenLanguage ? 0 : -1;
  }
  $('snippet').setAttribute('aria-labelledby', `in-${chosenLanguage}`);
  $('snippet').textContent = textByLanguage[chosenLanguage] ?? '';
}

export function showSnippets(texts) {
  textByLanguage = texts;
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
    chosenLanguage = LANGUAGES[at];
    show();
  });
  $('copy').addEventListener('click', () => copy(textByLanguage[chosenLanguage], $('copy')));
}

// Makes a row of tabs usable by mouse and by keys.
export function connectTabs(tabs, open) {
  for (const [at, tab] of tabs.entries()) {
    tab.addEventListener('click', () => open(at));
    tab.addEventListener('keydown', ({ key }) => {
      const target = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[key];
      if (target === undefined) return;
      const next = (target + tabs.length) % tabs.length;
      open(next);
      tabs[next].focus();
    });
  }
}

// Returns the name of the file of x, quoted for a shell if needed. For formats that the command cannot read, the
// snippets name a .png file.
export const file = (name) => {
  const fileName = name.split('/').pop().replace(/\.(webp|gif|avif|bmp|svg)$/i, '.png');
  return /[^\w.-]/.test(fileName) ? `'${fileName.replaceAll("'", "'\\''")}'` : fileName;
};
export const rustShape = (shape) => `&[${shape.join(', ')}]`;
// Returns the name of a file that can hold the result: a picture only if the result has colours.
export const output = ({ image, shape, channels }) => (image && channels >= 3 && shape.length === 3 ? 'result.png' : 'result.npy');
