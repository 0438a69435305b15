import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { HttpSettings } from '../../../kinds/http/definition/http-implementation.ts'
import { BlockedDownload, download } from '../../../kinds/http/exchange/download.ts'
import {
  DOCUMENT_BYTES,
  OpenapiError,
  parseDocument,
  type ReferencedFile,
  ROOT,
  referencedFiles,
} from '../../../openapi/documents.ts'
import { UsageError } from '../../common/terminal.ts'

/** A document and the files that it refers to. */
export interface ReadDocument {
  readonly document: unknown
  /** By path, relative to the folder of the document. */
  readonly files: ReadonlyMap<string, ReferencedFile>
  /** The final URL of a document from the web. */
  readonly documentUrl?: string
}

const MAX_FILES = 1_000
/** A reference that does not begin with #. */
const EXTERNAL_REFERENCE = /\$ref["']?\s*:\s*["']?[^#"'\s]/

/** Whether a source is a URL. */
export const isUrl = (source: string): boolean => /^https?:\/\//i.test(source)

/** Reads a document from a URL, or from a file together with the files it refers to. */
export async function readOpenapi(
  source: string,
  settings: HttpSettings,
  signal: AbortSignal,
  folder = process.cwd(),
): Promise<ReadDocument> {
  if (isUrl(source)) {
    const { text, url } = await fetchDocument(source, settings, signal)
    return { document: parseDocument(text, source), files: new Map(), documentUrl: url }
  }
  const file = resolve(folder, source)
  const text = await readText(file).catch((error: unknown) => {
    throw new UsageError(`${source}: ${problemOf(error)}. Name a file or an http or https URL.`, { cause: error })
  })
  const document = parseDocument(text, source)
  const files = new Map<string, ReferencedFile>()
  if (EXTERNAL_REFERENCE.test(text)) await readReferenced(document, dirname(await realpath(file)), files)
  return { document, files }
}

/** Reads referenced files recursively, if they are in the folder of the document. */
async function readReferenced(document: unknown, folder: string, files: Map<string, ReferencedFile>): Promise<void> {
  const open = [...referencedFiles(document, ROOT)]
  let bytesLeft = DOCUMENT_BYTES
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (files.has(path)) continue
    if (files.size >= MAX_FILES) throw new OpenapiError(`The document refers to more than ${MAX_FILES} files.`)
    try {
      const text = await readText(await inside(join(folder, path), folder), bytesLeft)
      bytesLeft -= text.length
      const found = parseDocument(text, path)
      files.set(path, { document: found })
      open.push(...referencedFiles(found, path))
    } catch (error) {
      files.set(path, { problem: problemOf(error) })
    }
  }
}

/** Follows links before it checks the folder. */
async function inside(file: string, folder: string): Promise<string> {
  const real = await realpath(file)
  const path = relative(folder, real)
  if (path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path)) return real
  throw new OpenapiError('it is outside the folder of the document')
}

async function readText(file: string, maxBytes = DOCUMENT_BYTES): Promise<string> {
  const found = await stat(file)
  if (!found.isFile()) throw new OpenapiError('it is not a file')
  if (found.size > maxBytes) {
    throw new OpenapiError(`it is larger than ${DOCUMENT_BYTES / 1024 / 1024} MB`)
  }
  return readFile(file, 'utf8')
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'permission denied',
}

function problemOf(error: unknown): string {
  if (error instanceof OpenapiError) return error.message.replace(/\.$/, '')
  const code = String((Object(error) as { code?: unknown }).code)
  return REASONS[code] ?? `it cannot be read (${code})`
}

const ACCEPT = 'application/json, application/yaml, */*;q=0.5'

async function fetchDocument(
  address: string,
  settings: HttpSettings,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly url: string }> {
  const limits = { maxBytes: DOCUMENT_BYTES, settings, signal, accept: ACCEPT, tool: 'import openapi' }
  const { body, url } = await download(address, limits).catch((error: unknown) => {
    throw error instanceof BlockedDownload ? new UsageError(error.message, { cause: error }) : error
  })
  return { text: body.toString('utf8'), url }
}
