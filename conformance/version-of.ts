import { readFileSync } from 'node:fs'

/** The version of a package under test: ours, or one that is pinned and installed in the package of the bench. */
export function versionOf(name: string): string {
  const place = name === 'toolyard' ? '../package.json' : `../bench/node_modules/${name}/package.json`
  return (JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as { version: string }).version
}
