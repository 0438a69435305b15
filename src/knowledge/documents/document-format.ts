import { posix } from 'node:path'
import type { DocumentFormat } from './document.ts'

const EXTENSIONS: Readonly<Record<string, DocumentFormat>> = {
  ...each('text', 'txt text rst adoc asciidoc org tex'),
  ...each('markdown', 'md markdown mdown mkd mdx'),
  ...each('html', 'html htm xhtml'),
  ...each('pdf', 'pdf'),
  ...each('json', 'json jsonl ndjson geojson ipynb webmanifest'),
  ...each('csv', 'csv tsv tab'),
  // What has lines that mean something is cut like code.
  ...each('code', 'c h cc cpp cxx hpp cs java kt kts scala groovy gradle go rs zig nim d swift m mm dart asm s'),
  ...each('code', 'js jsx mjs cjs ts tsx mts cts vue svelte css scss sass less graphql gql proto wat sol'),
  ...each('code', 'py pyi rb php pl pm lua r jl sh bash zsh fish ps1 bat cmd awk sql ex exs erl hrl hs ml mli fs fsx'),
  ...each('code', 'clj cljs lisp el scm vim tf hcl nix cmake mk dockerfile toml yaml yml ini cfg conf env properties'),
  ...each('code', 'jsonc json5 xml xsl xslt xsd svg rss atom plist diff patch log lock'),
}

const MEDIA_TYPES: Readonly<Record<string, DocumentFormat>> = {
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/pdf': 'pdf',
  'application/json': 'json',
  'application/x-ndjson': 'json',
  'application/jsonl': 'json',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'text/javascript': 'code',
  'application/javascript': 'code',
  'application/xml': 'code',
  'text/xml': 'code',
  'application/yaml': 'code',
}

/** Files that go by their whole name. */
const NAMES = /^(?:makefile|dockerfile|containerfile|jenkinsfile|gemfile|rakefile|procfile|vagrantfile|\..+)$/i
const HTML = /^(?:\s|<!--(?:(?!-->)[\s\S]){0,500}-->)*<(?:!doctype\s+html|html|head|body)\b/i

/** What a document is, by how it begins, what its sender says, and its name; in this order. */
export function documentFormat(name: string, head: Uint8Array, mediaType?: string): DocumentFormat {
  const start = latin(head, 1024)
  if (start.startsWith('%PDF-')) return 'pdf'
  const said = sayingOf(mediaType) ?? EXTENSIONS[extensionOf(name)]
  if (said !== undefined) return said
  if (NAMES.test(posix.basename(name)) || start.startsWith('#!')) return 'code'
  if (HTML.test(start.replace(/^\xef\xbb\xbf/, ''))) return 'html'
  return 'text'
}

/** Whether bytes begin as a PDF does, where something else may stand before. */
export const isPdf = (head: Uint8Array): boolean => latin(head, 1024).includes('%PDF-')

const latin = (bytes: Uint8Array, most: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, most)).toString('latin1')

/** The end of a name, in lower case and without its dot; empty where there is none. */
export const extensionOf = (name: string): string => posix.extname(name).slice(1).toLowerCase()

/** Where a sender knows no better than "text" or "bytes", the name says more. */
function sayingOf(mediaType: string | undefined): DocumentFormat | undefined {
  const type = mediaType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type.endsWith('+json')) return 'json'
  return MEDIA_TYPES[type]
}

function each(format: DocumentFormat, extensions: string): Record<string, DocumentFormat> {
  return Object.fromEntries(extensions.split(' ').map((extension) => [extension, format]))
}
