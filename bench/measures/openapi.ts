import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseDocument } from '../../src/openapi/documents.ts'
import { importOpenapi } from '../../src/openapi/import-openapi.ts'

const FILE = fileURLToPath(import.meta.resolve('@octokit/openapi/generated/api.github.com.json'))

export interface OpenapiResult {
  readonly megabytes: number
  readonly found: number
  readonly mapped: number
  readonly wallS: number
  readonly cpuS: number
  /** Of the whole process, Node itself included. */
  readonly peakMb: number
}

/** Reads GitHub's own document and turns it into tools, once, in a process that has done nothing else. */
export async function openapi(): Promise<OpenapiResult> {
  const started = performance.now()
  const before = process.cpuUsage()
  const text = await readFile(FILE, 'utf8')
  const { found, mapped } = importOpenapi(parseDocument(text, FILE))
  const { user, system } = process.cpuUsage(before)
  return {
    megabytes: text.length / 1e6,
    found,
    mapped,
    wallS: (performance.now() - started) / 1e3,
    cpuS: (user + system) / 1e6,
    peakMb: process.resourceUsage().maxRSS / 1e3,
  }
}
