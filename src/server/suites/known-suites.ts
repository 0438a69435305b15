import { access, constants, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Installation } from '../../config/installation.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { BFCL_CATEGORIES, dataSetsFolder, questionFile } from '../../validation/bfcl/bfcl-category.ts'
import { loadSuite } from '../../validation/load-suite.ts'
import { SuiteError } from '../../validation/suites/suite.ts'
import type { KnownSuite } from './suite-views.ts'

export const GENERATED = 'generated'
const SUITE_FILE = /^[^./\\][^/\\]*\.(?:json|jsonl|ndjson)$/i

/** Where the suites of an installation are: files in its data folder. */
export const suitesFolder = ({ folder }: Installation): string => join(folder, 'suites')

/** Whether this server could put a file there. */
export async function isWritable(installation: Installation): Promise<boolean> {
  const may = (path: string) =>
    access(path, constants.W_OK).then(
      () => true,
      () => false,
    )
  const folder = suitesFolder(installation)
  const there = await access(folder).then(
    () => true,
    () => false,
  )
  return may(there ? folder : installation.folder)
}

/** Every suite that can be asked for; a file that is no good is among them, with what is wrong with it. */
export async function knownSuites(
  installation: Installation,
  definitions: readonly ToolDefinition[],
): Promise<KnownSuite[]> {
  const files = await suiteFiles(installation)
  const read = await Promise.all(files.map((file) => fileSuite(installation, file, definitions)))
  return [{ id: GENERATED, kind: 'generated', name: GENERATED }, ...read, ...(await yardsticks())]
}

/** What the loader knows a suite by; undefined where there is none of that id. */
export async function suitePath(installation: Installation, id: string): Promise<string | undefined> {
  if (id === GENERATED) return id
  if (id.startsWith('bfcl:')) return (await yardsticks()).some((one) => one.id === id) ? id : undefined
  return (await suiteFiles(installation)).includes(id) ? join(suitesFolder(installation), id) : undefined
}

/** Where on this machine a file is, is nobody's business. */
export const withoutFolder = (installation: Installation, message: string): string =>
  message.replaceAll(join(suitesFolder(installation), '/'), '')

async function suiteFiles(installation: Installation): Promise<string[]> {
  const found = await readdir(suitesFolder(installation), { withFileTypes: true }).catch(() => [])
  return found
    .filter((entry) => entry.isFile() && SUITE_FILE.test(entry.name))
    .map(({ name }) => name)
    .sort()
}

async function fileSuite(
  installation: Installation,
  id: string,
  definitions: readonly ToolDefinition[],
): Promise<KnownSuite> {
  try {
    const { name, cases, remark } = await loadSuite(join(suitesFolder(installation), id), { definitions })
    return { id, kind: 'file', name, cases: cases.length, ...(remark !== undefined && { remark }) }
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    return { id, kind: 'file', name: id, problem: withoutFolder(installation, error.message) }
  }
}

/** The categories of the public yardstick that are on this machine. */
async function yardsticks(): Promise<KnownSuite[]> {
  let folder: string
  try {
    folder = dataSetsFolder()
  } catch {
    return []
  }
  const there = await Promise.all(
    BFCL_CATEGORIES.map((category) =>
      access(questionFile(folder, category)).then(
        () => [category],
        () => [],
      ),
    ),
  )
  return there.flat().map(({ name }) => ({ id: `bfcl:${name}`, kind: 'bfcl', name: `bfcl:${name}` }))
}
