import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { HttpSettings } from '../kinds/http/definition/http-implementation.ts'
import { OpenapiError, type ReferencedFile, ROOT, referencedFiles } from '../openapi/documents.ts'
import { DOCUMENT_BYTES, parseDocument } from '../openapi/parse-document.ts'
import { fetchDocument } from './fetch-document.ts'
import { UsageError } from './usage-error.ts'

/** A document, and what belongs to it. */
export interface ReadDocument {
  readonly document: unknown
  /** The files that it refers to, by their path from its folder. */
  readonly files: ReadonlyMap<string, ReferencedFile>
  /** Where it was read from, where that is the web. */
  readonly documentUrl?: string
}

const MOST_FILES = 1_000
/** A reference that does not begin with #. */
const OUTWARD = /\$ref["']?\s*:\s*["']?[^#"'\s]/

/** Whether a source is on the web. */
export const isAddress = (source: string): boolean => /^https?:\/\//i.test(source)

/** Reads a document from a file, with those beside it that it refers to, or from the web. */
export async function readOpenapi(source: string, settings: HttpSettings, signal: AbortSignal): Promise<ReadDocument> {
  if (isAddress(source)) {
    const { text, url } = await fetchDocument(source, settings, signal)
    return { document: parseDocument(text, source), files: new Map(), documentUrl: url }
  }
  const file = resolve(source)
  const text = await readText(file).catch((error: unknown) => {
    throw new UsageError(`${source}: ${problemOf(error)}. Name a file or an http or https address.`, { cause: error })
  })
  const document = parseDocument(text, source)
  const files = new Map<string, ReferencedFile>()
  if (OUTWARD.test(text)) await readBeside(document, dirname(await realpath(file)), files)
  return { document, files }
}

/** Reads what the document refers to, and what that refers to, as far as it lies in the folder of the document. */
async function readBeside(document: unknown, folder: string, files: Map<string, ReferencedFile>): Promise<void> {
  const open = [...referencedFiles(document, ROOT)]
  let room = DOCUMENT_BYTES
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (files.has(path)) continue
    if (files.size >= MOST_FILES) throw new OpenapiError(`The document refers to more than ${MOST_FILES} files.`)
    try {
      const text = await readText(await inside(join(folder, path), folder), room)
      room -= text.length
      const found = parseDocument(text, path)
      files.set(path, { document: found })
      open.push(...referencedFiles(found, path))
    } catch (error) {
      files.set(path, { problem: problemOf(error) })
    }
  }
}

/** Links are followed before it is decided where a file lies. */
async function inside(file: string, folder: string): Promise<string> {
  const real = await realpath(file)
  const way = relative(folder, real)
  if (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return real
  throw new OpenapiError('it is outside the folder of the document')
}

async function readText(file: string, room = DOCUMENT_BYTES): Promise<string> {
  const found = await stat(file)
  if (!found.isFile()) throw new OpenapiError('it is no file')
  if (found.size > room) {
    throw new OpenapiError(`it is too large: at most ${DOCUMENT_BYTES / 1024 / 1024} MB are read`)
  }
  return readFile(file, 'utf8')
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'it may not be read',
}

function problemOf(error: unknown): string {
  if (error instanceof OpenapiError) return error.message.replace(/\.$/, '')
  const code = String((Object(error) as { code?: unknown }).code)
  return REASONS[code] ?? `it cannot be read (${code})`
}
