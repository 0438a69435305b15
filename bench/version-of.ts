import { readFileSync } from 'node:fs'

/** The installed version of a peer; empty for what has none. */
export function versionOf(name: string | undefined): string {
  if (name === undefined) return ''
  const file = new URL(`./node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
