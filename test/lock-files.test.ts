import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installedPackages } from '../scripts/import-weight.ts'

const root = join(import.meta.dirname, '..')
const library = readFileSync(join(root, 'docs/guides/library.md'), 'utf8')

interface Locked {
  optionalDependencies?: Record<string, string>
}

/** What a package would take on some platform and the lock file does not name: npm leaves it out there without a word. */
function notLocked(packages: Record<string, Locked>): string[] {
  const paths = Object.keys(packages)
  const binaries = Object.values(packages).flatMap((one) =>
    Object.keys(one.optionalDependencies ?? {}).filter((name) => /darwin|win32|windows|linux/.test(name)),
  )
  return binaries.filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)))
}

test.each(['package-lock.json', 'web/package-lock.json', 'site/package-lock.json'])(
  '%s names the binaries of every platform',
  (file) => {
    const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8')) as { packages: Record<string, Locked> }
    expect(notLocked(packages), 'take a version that is published for all platforms').toEqual([])
  },
)

test('a binary that the lock file does not name is found', () => {
  const tool = { optionalDependencies: { 'tool-linux-x64': '1', 'tool-darwin-arm64': '1' } }
  expect(notLocked({ 'node_modules/tool': tool, 'node_modules/tool-linux-x64': {} })).toEqual(['tool-darwin-arm64'])
})

test.each(['package.json', 'packages/core/package.json', 'packages/mini/package.json'])(
  '%s pins what it installs',
  (file) => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(root, file), 'utf8'))
    const versions = Object.entries<string>({ ...dependencies, ...optionalDependencies })
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([])
  },
)

test.each([
  ['@toolyard/core', 'packages/core', 30],
  ['toolyard', '', 150],
] as const)('an install of %s has as many packages as docs/guides/library.md says', (name, place, most) => {
  const { size } = installedPackages(root, place)
  expect(size).toBeLessThanOrEqual(most)
  expect(library).toContain(`| \`${name}\` | ${size} |`)
})

test('all packages, the MCP client and the docs have the version of the changelog', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8')
  const version = /^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/m.exec(read('CHANGELOG.md'))?.[1]
  for (const file of [
    'package.json',
    'create-toolyard/package.json',
    'packages/core/package.json',
    'packages/mini/package.json',
  ]) {
    const { version: its, dependencies = {}, peerDependencies = {}, devDependencies = {} } = JSON.parse(read(file))
    const ours = Object.entries({ ...devDependencies, ...peerDependencies, ...dependencies }).filter(([name]) =>
      /^(@toolyard\/|toolyard$)/.test(name),
    )
    expect([file, its, ...ours.map(([, wanted]) => wanted)]).toEqual([file, version, ...ours.map(() => version)])
  }
  const { packages } = JSON.parse(read('package-lock.json'))
  for (const place of ['', 'packages/core', 'packages/mini']) expect(packages[place].version).toBe(version)
  expect(read('src/mcp/client/open-client.ts')).toContain(`version: '${version}'`)
  expect(read('docs/start/install.md')).toContain(`toolyard-${version}.tgz`)
})

test('the changelog has the sections of Keep a Changelog', () => {
  const headings = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').match(/^##+ .*$/gm) ?? []
  expect(headings[0]).toBe('## [Unreleased]')
  const known =
    /^## \[(?:Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$)|^### (?:Added|Changed|Deprecated|Removed|Fixed|Security)$/
  expect(headings.filter((heading) => !known.test(heading))).toEqual([])
})
