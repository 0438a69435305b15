import type { IsolatedHandler } from '../handler.ts'

/** Where the exact validator runs: in a process of its own, so that this one never loads it. */
export const exactCheckHandler: IsolatedHandler = {
  module: new URL(`./exact-check${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url).href,
  export: 'exactCheck',
}
