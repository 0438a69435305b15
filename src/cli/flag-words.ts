import type { Flags } from '../config/callers/listed-tenant.ts'

/** Flags as they are typed. */
export const flagWords = (flags: Flags): string =>
  Object.entries(flags)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
