import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ToolErrorCode } from 'toolyard'
import { describe, expect, test } from 'vitest'
import { publishedSchema } from '../src/config/config-schema.ts'
import { TOOL_ERRORS } from '../src/core/tool-error-code.ts'

const root = new URL('..', import.meta.url).pathname
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
for (const entry of readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })) {
  if (entry.endsWith('.md')) pages.push(join('docs', entry))
}

describe('docs/errors.md', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (yes|no) \|/gm)]

  test('lists every code, with its status and whether trying again can help', () => {
    const listed = Object.fromEntries(
      rows.map(([, code, status, again]) => [code, { status: Number(status), retryable: again === 'yes' }]),
    )
    expect(listed).toEqual(TOOL_ERRORS)
    expect(Object.keys(listed)).toEqual(Object.keys(ToolErrorCode))
  })
})

describe('README.md', () => {
  test('shows the quick start as it is run', () => {
    const code = read('examples/quick-start.ts').trim()
    expect(read('README.md')).toContain(`<!-- examples/quick-start.ts -->\n\`\`\`ts\n${code}\n\`\`\``)
  })

  test('names every folder of the source', () => {
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    for (const { name } of folders) expect(read('README.md')).toContain(`\`src/${name}\``)
  })
})

test('the published schema of the configuration is the one that is checked (node scripts/write-config-schema.ts)', () => {
  expect(JSON.parse(read('toolyard.config.schema.json'))).toEqual(JSON.parse(JSON.stringify(publishedSchema())))
})

test.each(pages)('the links in %s lead somewhere', (page) => {
  for (const [, target] of read(page).matchAll(/\]\(([^)]+)\)/g)) {
    const [path, anchor] = (target as string).split('#')
    if (/^[a-z]+:/.test(path as string)) continue
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
