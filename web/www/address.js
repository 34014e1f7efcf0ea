// The address of the page contains the open tab and its state, so that people can share it.

// The parameters of the address that the page was opened with.
export const given = new URLSearchParams(location.search);

let waiting = 0;

// Puts a tab into the address, with the parts of its state that differ from the defaults. Browsers limit how often an
// address can change.
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

// Returns the state of a tab from the address.
export function fromAddress(defaults) {
  const read = ([name, value]) => [name, typeof value === 'boolean' ? given.get(name) === '1' : given.get(name)];
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => given.has(name)).map(read));
}
