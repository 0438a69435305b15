import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { coreSources } from '../scripts/core-package.ts'
import { readSources, type SourceFile } from './setup/source-file.ts'

const root = join(import.meta.dirname, '..')
const manifestOf = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
const [toolyard, core] = [manifestOf('.'), manifestOf('packages/core')]
const sources = readSources(root, 'src').filter(({ path }) => !/\.test\.ts$|\/fixtures\//.test(path))
const inCore = coreSources(root, sources)

/** What @toolyard/core may be made of. The embedder is the type of a stand-in. */
const MAY_HOLD = /^src\/(core|library|chat|isolation|kinds|models|testing)\/|^src\/knowledge\/embedding\/embedder\.ts$/

/** The packages that files import, in code or in types. */
function imported(files: readonly SourceFile[]): string[] {
  const names = files
    .flatMap(({ imports }) => imports)
    .filter(({ target, ours }) => !ours && !target.startsWith('node:'))
    .map(({ target }) => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target)
  return [...new Set(names)].sort()
}

/** Read by the declarations of packages that have no such dependency themselves. */
const UNSEEN = {
  core: ['@types/json-schema'],
  toolyard: ['@toolyard/core'],
}

describe('@toolyard/core', () => {
  test('reaches no server, storage, MCP, configuration or command line', () => {
    expect(inCore.map(({ path }) => path).filter((path) => !MAY_HOLD.test(path))).toEqual([])
    expect(inCore.map(({ path }) => path)).not.toContain('src/library/configured.ts')
  })

  test('has the version that toolyard depends on', () => {
    expect(toolyard.dependencies['@toolyard/core']).toBe(core.version)
    expect(core.version).toBe(toolyard.version)
  })

  test('has all entries of toolyard that are made of its files', () => {
    const paths = new Set(inCore.map(({ path }) => path))
    for (const [entry, target] of Object.entries<{ 'toolyard-source'?: string }>(toolyard.exports)) {
      const source = target['toolyard-source']?.slice(2)
      // A server for MCP needs its SDK.
      const isExpected = entry !== './mcp' && /^\.\/src\/(library|testing)\//.test(target['toolyard-source'] ?? '')
      if (source === undefined || (!paths.has(source) && !isExpected)) continue
      const built = source.replace(/^src\/(.*)\.ts$/, './dist/$1.js')
      expect(core.exports).toHaveProperty([entry, 'default'], built)
    }
  })

  test.each([
    ['core', core, inCore],
    ['toolyard', toolyard, sources.filter((file) => !inCore.includes(file))],
  ] as const)('%s depends on the packages that it imports, and on no others', (name, manifest, files) => {
    const needed = imported(files)
    const optional = Object.keys(manifest.peerDependencies)
    const dependencies = Object.keys(manifest.dependencies)
    expect(needed.filter((one) => !dependencies.includes(one) && !optional.includes(one))).toEqual([])
    expect(dependencies.filter((one) => !needed.includes(one) && !UNSEEN[name].includes(one))).toEqual([])
  })
})
