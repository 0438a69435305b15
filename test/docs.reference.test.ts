import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { toolyard } from '../src/cli/fixtures/toolyard.ts'
import { publishedSchema } from '../src/config/config.ts'
import { auditColumns } from '../src/core/records/audit-columns.ts'
import { openTestServer } from '../src/server/fixtures/open-server.ts'

const root = new URL('..', import.meta.url).pathname
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const CONFIGURATION = 'docs/reference/configuration.md'
/** The pages that describe the fields of the longer entries. */
const FIELD_PAGES: Readonly<Record<string, string>> = {
  registry: 'docs/reference/tools.md',
  providers: 'docs/guides/models.md',
  models: 'docs/guides/models.md',
  responses: 'docs/reference/response-rules.md',
  mcpServers: 'docs/guides/mcp-client.md',
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
}

/** The keys of an object, of the entries of a map, or of the elements of a list. */
const keysOf = (schema: Schema): string[] => [
  ...Object.keys(schema.properties ?? {}),
  ...(schema.items === undefined ? [] : keysOf(schema.items)),
  ...(typeof schema.additionalProperties === 'object' ? keysOf(schema.additionalProperties) : []),
  ...(schema.anyOf ?? []).flatMap(keysOf),
]

test('docs/reference/configuration.md has a row for every key, and a page names every field', () => {
  const page = read(CONFIGURATION)
  const rows = [...page.matchAll(/^\| `([\w.<>]+)` \|/gm)].map(([, key]) => key as string)
  const schema = publishedSchema() as Schema
  const missing: string[] = []
  const described = (name: string, place: Schema, path: string) => {
    const text = page + read(FIELD_PAGES[name] ?? CONFIGURATION)
    const fields = keysOf(place).filter((key) => !new RegExp(`[\`{, "]${key}[\`,}?:."]`).test(text))
    missing.push(...fields.map((key) => `${path}: ${key}`))
  }
  for (const [section, inner] of Object.entries(schema.properties ?? {})) {
    if (['$schema', 'servers', 'inputs'].includes(section)) continue
    if (rows.includes(section) || rows.includes(`${section}.<name>`)) described(section, inner, section)
    else {
      for (const [key, place] of Object.entries(inner.properties ?? {})) {
        const path = `${section}.${key}`
        if (!rows.includes(path) && !page.includes(`\`${key}\` (`)) missing.push(path)
        described(key, place, path)
      }
    }
  }
  expect(rows.length).toBeGreaterThan(40)
  expect(missing).toEqual([])
})

test('docs/reference/configuration.md lists every environment variable that the sources read', () => {
  const listed = new Set([...read(CONFIGURATION).matchAll(/`(TOOLYARD_[A-Z_]+)/g)].map(([, name]) => name))
  const sources = execFileSync('git', ['ls-files', 'src', 'bin', 'packages'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.(ts|js)$/.test(file) && !/(test|spec)\.ts$|fixtures|\/train\//.test(file))
  const names = sources.flatMap((file) => [...read(file).matchAll(/\bTOOLYARD_[A-Z_]+/g)].map(([name]) => name))
  // The values of ${secret:…}, ${file:…} and ${cmd:…} are variables of the process, not of its environment.
  const used = new Set(names.filter((name) => name !== 'TOOLYARD_SECRET_'))
  expect(used.size).toBeGreaterThan(10)
  expect([...used].filter((name) => !listed.has(name))).toEqual([])
})

test('docs/reference/audit.md describes every column', () => {
  const [, section = ''] = read('docs/reference/audit.md').split('## Fields of a row')
  const table = section.slice(0, section.indexOf('\n## '))
  const described = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, names = '']) => names.match(/\w+/g) ?? [])
  expect(described.sort()).toEqual(['id', 'time', ...auditColumns.map(({ shown }) => shown), 'hash'].sort())
})

const GLOBAL_OPTIONS = ['--version', '--json', '--config', '--verbose', '--help']

test('docs/reference/command-line.md lists every command with its options', async () => {
  const sections = read('docs/reference/command-line.md').split(/^## /m).slice(1)
  const missing: string[] = []
  const options = new Set<string>()
  const visit = async (words: readonly string[]): Promise<void> => {
    const { out } = await toolyard([...words, '--help', '--json'])
    const help: string = JSON.parse(out).help
    const [, commands = ''] = /^Commands:\n((?: .*\n?)+)/m.exec(help) ?? []
    const section = sections.find((text) => (/^[^:]+/.exec(text)?.[0] ?? '').match(/\w+/g)?.includes(words[0] ?? ''))
    if (words.length > 0) {
      if (!section?.includes(words.at(-1) as string)) missing.push(words.join(' '))
      for (const [, option] of help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)) {
        if (GLOBAL_OPTIONS.includes(option as string)) continue
        options.add(`${words.join(' ')} ${option}`)
        if (!section?.includes(option as string)) missing.push(`${words.join(' ')} ${option}`)
      }
    }
    for (const [, name] of commands.matchAll(/^ {2}([a-z-]+)/gm)) {
      if (name !== 'help') await visit([...words, name as string])
    }
  }
  await visit([])
  expect(options.size).toBeGreaterThan(50)
  expect(missing).toEqual([])
})

test('docs/reference/telemetry.md lists every metric', async () => {
  const server = await openTestServer({ tools: { enabled: true } }, { local: true })
  const metrics = await (await fetch(`${server.url}/metrics?tenant=*`)).text()
  const exported = [...metrics.matchAll(/^# TYPE (toolyard_\w+)/gm)].map(([, name]) => name as string)
  const page = read('docs/reference/telemetry.md')
  expect(exported.length).toBeGreaterThan(10)
  expect(exported.filter((name) => !page.includes(`\`${name}`))).toEqual([])
})
