/** Those that were asked for by their id; all, where none of them was. */
export function chosen<Each extends { readonly id: string }>(all: readonly Each[], ids: readonly string[]): Each[] {
  const named = all.filter(({ id }) => ids.includes(id))
  return named.length === 0 ? [...all] : named
}
