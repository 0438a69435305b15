/** An address with this hash opens the list of shortcuts. */
export const SHORTCUTS_HASH = '#shortcuts'
