// Imports from test/peers, which is not above this folder, so by path.

const root = new URL('../../peers/node_modules/', import.meta.url);

export function peer(path) {
  return import(new URL(path, root));
}
