import { resolve } from 'node:path'

/** `TOOLYARD_DATA`, or `.toolyard` in the current folder. */
export const dataFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  resolve(env.TOOLYARD_DATA || '.toolyard')
