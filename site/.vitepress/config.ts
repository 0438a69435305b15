import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type DefaultTheme, defineConfig, type MarkdownRenderer } from 'vitepress'

const docs = fileURLToPath(new URL('../pages', import.meta.url))

/** The folders of the docs, each with the pages to read first. The other pages follow by title. */
const SECTIONS = [
  ['start', 'Start', ['install', 'first-tool', 'first-model', 'team']],
  ['guides', 'Guides', ['adding-tools', 'http-tools', 'openapi', 'mcp-client', 'mcp-server', 'mcp-gateway']],
  ['reference', 'Reference', ['configuration', 'server', 'chat-api', 'command-line', 'errors', 'library-api']],
  ['concepts', 'Concepts', ['life-of-a-call', 'effects']],
  ['internals', 'Internals', []],
] as const
const FOLDERS: Record<string, string> = { tools: 'Shipped tools', migrate: 'Migrate', decisions: 'Decisions' }

const titleOf = (file: string): string =>
  (/^# (.+)$/m.exec(readFileSync(join(docs, file), 'utf8'))?.[1] ?? file).replaceAll('`', '')

function itemsOf(folder: string, first: readonly string[]): DefaultTheme.SidebarItem[] {
  const entries = readdirSync(join(docs, folder), { withFileTypes: true })
  const rank = (name: string) => (first.includes(name) ? first.indexOf(name) : first.length)
  const pages = entries
    .filter(({ name }) => name.endsWith('.md'))
    .map(({ name }) => ({ name: name.slice(0, -'.md'.length), text: titleOf(`${folder}/${name}`) }))
    .sort((one, other) => rank(one.name) - rank(other.name) || one.text.localeCompare(other.text))
    .map(({ name, text }) => ({ text, link: `/${folder}/${name}` }))
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ text: FOLDERS[name] ?? name, collapsed: true, items: itemsOf(`${folder}/${name}`, []) }))
  return [...pages, ...folders]
}

/** Links to files outside the docs, such as examples, become text: the site does not contain them. */
function unlinkOutside(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('unlink_outside', ({ tokens, env }) => {
    for (const { children } of tokens) {
      let inside = false
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          const target = posix.normalize(posix.join(posix.dirname(env.relativePath), token.attrGet('href') ?? ''))
          inside = target.startsWith('..') || target.endsWith('.json')
        }
        if (!inside || !token.type.startsWith('link_')) continue
        inside = token.type === 'link_open'
        token.tag = 'span'
        token.attrs = null
      }
    }
  })
}

const INLINE = /<script id="check-dark-mode">(.*?)<\/script>/s
const MAC_OS = /<script id="check-mac-os">.*?<\/script>/gs
const scripts = new Set<string>()

export default defineConfig({
  srcDir: 'pages',
  outDir: 'dist',
  base: '/guide/',
  title: 'Toolyard',
  description: 'Runs tools for AI models.',
  head: [['link', { rel: 'icon', href: '/assets/toolyard.svg' }]],
  // The server allows no inline scripts: the metadata and the script that sets the colour scheme are files.
  metaChunk: true,
  transformHtml(html) {
    const [inline = '', code = ''] = INLINE.exec(html) ?? []
    scripts.add(code)
    return html.replace(inline, '<script src="/guide/appearance.js"></script>').replaceAll(MAC_OS, '')
  },
  buildEnd({ outDir }) {
    writeFileSync(join(outDir, 'appearance.js'), [...scripts].join('\n'))
  },
  markdown: { config: unlinkOutside },
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    search: { provider: 'local' },
    nav: SECTIONS.map(([folder, text, first]) => ({
      text,
      link: itemsOf(folder, first).find(({ link }) => link)?.link ?? '/',
    })),
    sidebar: SECTIONS.map(([folder, text, first]) => ({
      text,
      collapsed: folder !== 'start',
      items: itemsOf(folder, first),
    })),
    outline: [2, 3],
  },
})
