// The address of the page contains the open tab and its state, so that people can share it.

// The parameters of the address that the page was opened with.
export const parameters = new URLSearchParams(location.search);

let timer = 0;

// Puts a tab into the address, with the values of its state that differ from the defaults. Returns the new address. The
// browser's address changes after 150 ms, because browsers limit how often it can change.
export function address(tab, state, defaults) {
  const url = new URL(location.pathname, location.href);
  if (tab !== 'slice') url.searchParams.set('tab', tab);
  for (const [name, value] of Object.entries(state)) {
    if (value !== defaults[name]) url.searchParams.set(name, typeof value === 'boolean' ? Number(value) : value);
  }
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, '', url), 150);
  return url.href;
}

// Returns the values of a tab's state that the address contains.
export function fromAddress(defaults) {
  const read = ([name, value]) => [name, typeof value === 'boolean' ? parameters.get(name) === '1' : parameters.get(name)];
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => parameters.has(name)).map(read));
}
