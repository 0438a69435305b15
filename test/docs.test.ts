import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { parseSync } from 'oxc-parser'
import { silentLog, ToolErrorCode, ToolManager } from 'toolyard'
import { describe, expect, onTestFinished, test } from 'vitest'
import { writeDocsPrograms } from '../scripts/docs-programs.js'
import { libraryApi } from '../scripts/library-api.ts'
import { toolyard } from '../src/cli/fixtures/toolyard.ts'
import { checkConfig } from '../src/config/check-config.ts'
import { publishedSchema } from '../src/config/config.ts'
import { TOOL_ERRORS } from '../src/core/tool-result.ts'

const MOST_IMAGE_BYTES = 150_000
const root = new URL('..', import.meta.url).pathname
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']
for (const entry of readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })) {
  if (entry.endsWith('.md')) pages.push(join('docs', entry))
}

/** The code blocks of a page that are marked with one of these languages. */
const blocks = (page: string, ...languages: string[]): string[] =>
  [...read(page).matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, language]) => languages.includes(language as string))
    .map(([, , code]) => code as string)

/** Where the links of a page lead, but for the web. */
const linksOf = (page: string): string[] =>
  [...read(page).matchAll(/\]\(([^)]+)\)/g)]
    .map(([, target]) => target as string)
    .filter((target) => !/^[a-z]+:/.test(target))

describe('docs/reference/errors.md', () => {
  const rows = [...read('docs/reference/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (yes|no) \|/gm)]

  test('lists every code, with its status and whether trying again can help', () => {
    const listed = Object.fromEntries(
      rows.map(([, code, status, again]) => [code, { status: Number(status), retryable: again === 'yes' }]),
    )
    expect(TOOL_ERRORS).toMatchObject(listed)
    expect(Object.keys(listed)).toEqual(Object.keys(ToolErrorCode))
  })
})

test('docs/guides/testing-tools.md shows its example as it is run', () => {
  const code = read('examples/testing.ts').trim()
  expect(read('docs/guides/testing-tools.md')).toContain(`<!-- examples/testing.ts -->\n\`\`\`ts\n${code}\n\`\`\``)
})

describe('README.md', () => {
  test('shows the quick start as it is run', () => {
    const code = read('examples/quick-start.ts').trim()
    expect(read('README.md')).toContain(`<!-- examples/quick-start.ts -->\n\`\`\`ts\n${code}\n\`\`\``)
  })

  test('has at most 120 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(121)
  })

  test('leads to docs/internals/folders.md, which names every folder of the source', () => {
    expect(linksOf('README.md')).toContain('docs/internals/folders.md')
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    for (const { name } of folders) expect(read('docs/internals/folders.md')).toContain(`\`src/${name}\``)
  })
})

test('docs/reference/library-api.md has the types of the sources (npm run docs:api)', () => {
  expect(read('docs/reference/library-api.md')).toBe(libraryApi())
})

test('the published schema of the configuration is the one that is checked (node scripts/write-config-schema.ts)', () => {
  expect(JSON.parse(read('toolyard.config.schema.json'))).toEqual(JSON.parse(JSON.stringify(publishedSchema())))
})

test.each(pages)('the links in %s lead somewhere', (page) => {
  for (const target of linksOf(page)) {
    const [path, anchor] = target.split('#')
    const file = path === '' ? join(root, page) : join(root, dirname(page), path as string)
    expect(existsSync(file), `${page} links to ${target}`).toBe(true)
    if (anchor !== undefined && file.endsWith('.md')) {
      const anchors = [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
        (title as string)
          .toLowerCase()
          .replace(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      )
      expect(anchors, `${page} links to ${target}`).toContain(anchor)
    }
  }
})

test('pictures say in words what they show, and are not heavy', () => {
  const shown = new Set<string>()
  for (const page of pages) {
    for (const [, words, target] of read(page).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)) {
      expect(words, `${page} shows ${target}`).toMatch(/\w+ \w+/)
      shown.add(normalize(join(dirname(page), target as string)))
    }
  }
  expect(shown.size).toBeGreaterThan(2)
  for (const file of shown) expect(statSync(join(root, file)).size, file).toBeLessThan(MOST_IMAGE_BYTES)
})

test('every page is linked from the README, or from a page that is', () => {
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const target of linksOf(page)) {
      const file = normalize(join(dirname(page), target.split('#')[0] as string))
      if (pages.includes(file)) reached.add(file)
    }
  }
  expect(pages.filter((page) => !reached.has(page))).toEqual([])
})

describe('code on the pages', () => {
  const EXAMPLES = ['with-ai-sdk', 'with-langchain', 'with-openai', 'mcp-client', 'own-server', 'approval-server']

  test('is that of the examples, where it names one', () => {
    const shown = pages.flatMap((page) =>
      [...read(page).matchAll(/^<!-- (examples\/[\w./-]+) -->\n```ts\n(.*?)\n```$/gms)].map(([, file, code]) => {
        expect(read(file as string), `${page} shows ${file}`).toContain(code)
        return file
      }),
    )
    expect(shown).toEqual(expect.arrayContaining(EXAMPLES.map((name) => `examples/${name}.ts`)))
  })

  test.each(pages)('%s holds JSON that is JSON, and programs that can be read', (page) => {
    for (const code of blocks(page, 'json')) expect(() => JSON.parse(code), code).not.toThrow()
    for (const code of blocks(page, 'ts', 'js')) expect(parseSync('block.ts', code).errors, code).toEqual([])
  })

  const keys = new Set(['$schema', ...Object.keys(Object(publishedSchema()).properties)])
  /** A configuration with this JSON of a page; undefined if it is neither a configuration nor a definition. */
  const configOf = (shown: Record<string, unknown>): object | undefined => {
    if (Object.hasOwn(shown, 'name') && Object.hasOwn(shown, 'implementation')) {
      return { tools: { enabled: true, registry: [shown] } }
    }
    // Some answers have the name of a section and a list.
    const isAnswer =
      Object.keys(shown).some((key) => !keys.has(key)) || [shown.servers, shown.packages].some(Array.isArray)
    return isAnswer ? undefined : shown
  }

  test.each(pages)('the configurations and definitions in %s load', async (page) => {
    for (const code of blocks(page, 'json')) {
      const config = configOf(JSON.parse(code))
      if (config === undefined) continue
      // Only the definitions are loaded: MCP servers would start.
      const manager = new ToolManager({ ...checkConfig(config, page), mcpServers: {} }, { log: silentLog })
      onTestFinished(() => manager.close())
      const { skipped } = await manager.loadTools()
      // A page alone has neither variables nor included files.
      const faults = skipped.filter(
        ({ problem }) => !/^(The environment variable \w+ is not set|An include works only)/.test(problem),
      )
      expect(faults, code).toEqual([])
    }
  })

  test('that imports from toolyard is type-checked by npm test, together with the sources', () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolyard-docs-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const written = writeDocsPrograms(root, folder).map((name) => readFileSync(join(folder, name), 'utf8'))
    const shown = pages.flatMap((page) => blocks(page, 'ts').filter((code) => /from 'toolyard/.test(code)))
    expect(shown.length).toBeGreaterThan(3)
    expect(written.toSorted()).toEqual(shown.toSorted())
    const { files, include } = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8'))
    expect(files).toHaveLength(shown.length)
    expect(include).toContain(join(root, 'src'))
    expect(read('scripts/test.js')).toContain("check('types', [...TSC, '-p', programs])")
  })

  test('the commands in README.md and docs/reference/command-line.md work as they stand', async () => {
    const lines = ['README.md', 'docs/reference/command-line.md'].flatMap((page) =>
      blocks(page, 'sh').join('').split('\n'),
    )
    const commands = lines
      .map((line) => line.replace(/^npm exec toolyard --/, 'toolyard').replace(/ +# .*$/, ''))
      .filter((line) => /^toolyard (?!completion)/.test(line))
    expect(commands.length).toBeGreaterThan(5)
    // A command that is on both pages is run once. The shell splits it into words; an empty one ends them.
    const script = `toolyard() { printf '%s\\0' "$@" ''; }\n${[...new Set(commands)].join('\n')}`
    const printed = execFileSync('bash', ['-c', script], { encoding: 'utf8' })
    const data = mkdtempSync(join(tmpdir(), 'toolyard-docs-'))
    onTestFinished(() => rmSync(data, { recursive: true, force: true }))
    for (const words of printed.split('\0\0').filter((words) => words !== '')) {
      const { code, err } = await toolyard(words.split('\0'), { cwd: root, env: { TOOLYARD_DATA: data } })
      expect(code, `${words.replaceAll('\0', ' ')}: ${err}`).toBe(0)
    }
  })
})

test('tables that a page repeats are those of the benchmark page', () => {
  const repeated = pages.flatMap((page) =>
    [...read(page).matchAll(/^<!-- from (docs\/[\w./-]+) -->\n((?:\|.*\n)+)/gm)].map(([, source, table]) => {
      expect(read(source as string), `${page} repeats a table of ${source}`).toContain(table)
      return page
    }),
  )
  expect(repeated).toContain('docs/concepts/scale.md')
})

test('docs/concepts/security.md names tests that exist', () => {
  const named = [...read('docs/concepts/security.md').matchAll(/`((?:src|test|spec)\/[^`]+)`/g)].map(
    ([, path]) => path as string,
  )
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
