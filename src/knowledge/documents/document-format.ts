import { posix } from 'node:path'
import { type DocumentFormat, UnreadableDocument } from './document.ts'

const EXTENSIONS: Readonly<Record<string, DocumentFormat>> = {
  ...each('text', 'txt text rst adoc asciidoc org tex'),
  ...each('markdown', 'md markdown mdown mkd mdx'),
  ...each('html', 'html htm xhtml'),
  ...each('pdf', 'pdf'),
  ...each('json', 'json jsonl ndjson geojson ipynb webmanifest'),
  ...each('csv', 'csv tsv tab'),
  // Formats in which line breaks matter are split like code.
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

/** Detects the format by the first bytes, the media type and the name, in this order. */
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

/** The file extension in lower case, without its dot; empty if there is none. */
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

/** Signatures of binary files, as Latin-1, with a description. */
const SIGNATURES: readonly (readonly [start: string, what: string])[] = [
  ['\x89PNG', 'a PNG image'],
  ['\xff\xd8\xff', 'a JPEG image'],
  ['GIF8', 'a GIF image'],
  ['II*\0', 'a TIFF image'],
  ['MM\0*', 'a TIFF image'],
  ['\0\0\x01\0', 'an icon'],
  ['RIFF', 'a sound, a video or a WebP image'],
  ['OggS', 'an Ogg sound or video'],
  ['fLaC', 'a FLAC sound'],
  ['ID3', 'an MP3 sound'],
  ['\x1aE\xdf\xa3', 'a Matroska or WebM video'],
  ['PK\x03\x04', 'a ZIP archive'],
  ['PK\x05\x06', 'an empty ZIP archive'],
  ['\x1f\x8b', 'a gzip archive'],
  ['BZh', 'a bzip2 archive'],
  ['\xfd7zXZ', 'an xz archive'],
  ["7z\xbc\xaf'\x1c", 'a 7-Zip archive'],
  ['\x28\xb5\x2f\xfd', 'a Zstandard archive'],
  ['Rar!\x1a', 'a RAR archive'],
  ['\x7fELF', 'a program'],
  ['\xca\xfe\xba\xbe', 'a program'],
  ['\xcf\xfa\xed\xfe', 'a program'],
  ['\0asm', 'a WebAssembly program'],
  ['SQLite format 3\0', 'an SQLite database'],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'a file of an old Microsoft Office: save it as PDF'],
  ['{\\rtf', 'a rich text file: save it as PDF or HTML'],
  ['%!PS', 'a PostScript file: save it as PDF'],
  ['PAR1', 'a Parquet table'],
  ['wOFF', 'a font'],
  ['wOF2', 'a font'],
  ['OTTO', 'a font'],
  ['\0\x01\0\0', 'a font'],
]

/** Documents that are ZIP archives inside, by the ends of their names. */
const ZIPPED: Readonly<Record<string, string>> = {
  docx: 'a Word document: save it as PDF or HTML',
  xlsx: 'an Excel workbook: save its sheets as CSV',
  pptx: 'a PowerPoint presentation: save it as PDF',
  odt: 'an OpenDocument text: save it as PDF or HTML',
  ods: 'an OpenDocument spreadsheet: save its sheets as CSV',
  epub: 'an EPUB book: save it as PDF or HTML',
}

/** Such a start is also that of ordinary words, so that it counts only where the file is not text. */
const WORDS = new Set(['RIFF', 'ID3', 'BZh', 'PAR1', 'OTTO', 'OggS', 'fLaC', 'GIF8', 'wOFF', 'wOF2'])

/** Describes a binary file by its first bytes; undefined if it may be text. */
export function looksLike(head: Uint8Array, extension: string): string | undefined {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 4096)).toString('latin1')
  for (const [signature, what] of SIGNATURES) {
    if (!start.startsWith(signature)) continue
    if (WORDS.has(signature) && !start.includes('\0')) continue
    return what === 'a ZIP archive' ? (ZIPPED[extension] ?? what) : what
  }
  if (start.startsWith('ftyp', 4)) return 'an MP4 video or a HEIC image'
  if (start.startsWith('ustar', 257)) return 'a tar archive'
  if (start.startsWith('MZ') && start.includes('\0')) return 'a program'
  if (start.startsWith('BM') && start.includes('\0')) return 'a bitmap image'
  return undefined
}

const MB = 1024 * 1024

/** The most bytes that a document may have. PDF goes to another process as a whole, CSV and JSON are held several times. */
const MAX_BYTES: Readonly<Record<DocumentFormat, number>> = {
  text: 64 * MB,
  markdown: 64 * MB,
  code: 64 * MB,
  csv: 32 * MB,
  json: 32 * MB,
  pdf: 32 * MB,
  html: 64 * MB,
}

/** Refuses a document that is too large for its format. */
export function checkSize(name: string, format: DocumentFormat, bytes: number): void {
  const most = MAX_BYTES[format]
  if (bytes <= most) return
  const size = `${(bytes / MB).toFixed(1)} MB`
  const why = `it has ${size}, and ${FORMAT_NAMES[format]} may have at most ${most / MB} MB; divide it`
  throw new UnreadableDocument(name, 'too-large', why)
}

const FORMAT_NAMES: Readonly<Record<DocumentFormat, string>> = {
  text: 'a text',
  markdown: 'a Markdown document',
  code: 'a source file',
  csv: 'a CSV file',
  json: 'a JSON document',
  pdf: 'a PDF',
  html: 'a page',
}
