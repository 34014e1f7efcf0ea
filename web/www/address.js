// The address of the page names the open tab and its state, so that people can send it.

// Returns the parameters of the address that the page was opened with.
export const given = new URLSearchParams(location.search);

let waiting = 0;

// Names a tab, and what of its state is not as at the beginning. Browsers limit how often an address changes.
export function address(tab, state, defaults) {
  const to = new URL(location.pathname, location.href);
  if (tab !== 'slice') to.searchParams.set('tab', tab);
  for (const [name, value] of Object.entries(state)) {
    if (value !== defaults[name]) to.searchParams.set(name, typeof value === 'boolean' ? Number(value) : value);
  }
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState(null, '', to), 150);
  return to.href;
}

// Returns the state that an address gives a tab.
export function fromAddress(defaults) {
  const read = ([name, value]) => [name, typeof value === 'boolean' ? given.get(name) === '1' : given.get(name)];
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => given.has(name)).map(read));
}
