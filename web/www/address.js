// The address of the page contains the open tab and its state, so that people can share it.

// The parameters of the address that the page was opened with.
export const given = new URLSearchParams(location.search);

let timer = 0;

// Puts a tab into the address, with the parts of its state that differ from the defaults. Returns the new address. The
// change waits for 150 ms, because browsers limit how often an address can change.
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

// Returns the part of a tab's state that the address contains.
export function fromAddress(defaults) {
  const read = ([name, value]) => [name, typeof value === 'boolean' ? given.get(name) === '1' : given.get(name)];
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => given.has(name)).map(read));
}
