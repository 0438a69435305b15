import { basename } from 'node:path'
import type { HttpSettings } from '../../kinds/http/definition/http-implementation.ts'
import { type Comparison, compareDefinitions } from '../../openapi/compare-definitions.ts'
import { NotInDocument } from '../../openapi/documents.ts'
import { type ImportReport, importOpenapi as importDocument } from '../../openapi/import-openapi.ts'
import { definitionsText } from '../definitions-text.ts'
import type { GlobalOptions } from '../global-options.ts'
import { addInclude, importConfiguration } from '../import-configuration.ts'
import { checkReplaced, importTarget } from '../import-target.ts'
import { Interrupt } from '../interrupt.ts'
import { printableLine } from '../printable.ts'
import { isAddress, type ReadDocument, readOpenapi } from '../read-openapi.ts'
import { concludeImport, showImport } from '../show-import.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { writeWhole } from '../write-whole.ts'

export interface ImportOpenapiOptions extends GlobalOptions {
  readonly include?: readonly string[]
  readonly prefix?: string
  readonly baseUrl?: string
  readonly into?: string
  readonly dryRun?: boolean
}

/** `toolyard import openapi FILE|URL`: writes a tool for every operation; 1 where none can be one. */
export async function importOpenapi(
  terminal: Terminal,
  source: string,
  options: ImportOpenapiOptions,
): Promise<number> {
  checkOptions(options)
  const configuration = await importConfiguration(options.config)
  const read = await readSource(terminal, source, configuration.config.http ?? {})
  if (typeof read === 'number') return read
  const report = mapped(terminal, read, options)
  const target = await importTarget(configuration.file, options.into ?? fileName(source, report, options))
  const comparison = compareDefinitions(target.before, report.definitions, !report.secured)
  checkReplaced(target, comparison)
  if (!terminal.json) showImport(terminal, report, comparison, target.name)
  const written = report.mapped > 0 && options.dryRun !== true
  if (written) await writeWhole(target.file, definitionsText(comparison.definitions))
  const included = written && (await addInclude(configuration, target))
  if (terminal.json) terminal.document({ file: target.name, written, included, ...told(report, comparison) })
  else concludeImport(terminal, report, { configuration, written, included })
  return report.mapped > 0 ? 0 : 1
}

/** The document, or the exit code where somebody did not want to wait for it. */
async function readSource(terminal: Terminal, source: string, settings: HttpSettings): Promise<ReadDocument | number> {
  const interrupt = new Interrupt()
  try {
    if (isAddress(source)) terminal.note(terminal.styleNote('dim', `… reading ${printableLine(source)}`))
    return await readOpenapi(source, settings, interrupt.signal)
  } catch (error) {
    if (interrupt.exitCode !== undefined) return interrupt.exitCode
    throw error
  } finally {
    // What follows holds the process up: Ctrl-C must end it.
    interrupt.stop()
  }
}

function checkOptions({ prefix, baseUrl }: ImportOpenapiOptions): void {
  if (prefix !== undefined && !/^[A-Za-z0-9_-]{1,32}$/.test(prefix)) {
    throw new UsageError(`--prefix takes up to 32 letters, digits, _ and -, not '${prefix}'.`)
  }
  const url = baseUrl === undefined ? undefined : URL.parse(baseUrl)
  if (baseUrl !== undefined && !/^https?:$/.test(url?.protocol ?? '')) {
    throw new UsageError(`--base-url takes an http or https address, not '${baseUrl}'.`)
  }
}

function mapped(terminal: Terminal, { document, ...read }: ReadDocument, options: ImportOpenapiOptions): ImportReport {
  const { include, prefix, baseUrl } = options
  try {
    return importDocument(document, {
      ...read,
      ...(include !== undefined && { include }),
      ...(prefix !== undefined && { prefix }),
      ...(baseUrl !== undefined && { baseUrl }),
      onProgress: (done, all) => terminal.note(terminal.styleNote('dim', `… ${done} of ${all} operations`)),
    })
  } catch (error) {
    throw error instanceof NotInDocument ? new UsageError(error.message, { cause: error }) : error
  }
}

/** `tools/petstore.json`, by what the tools begin with, or by what the document is called. */
function fileName(source: string, { title }: ImportReport, { prefix }: ImportOpenapiOptions): string {
  const slug = (text: string): string =>
    text
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 60)
      .replace(/^-+|(?<!-)-+$/g, '')
  return `tools/${slug(prefix ?? '') || slug(title) || slug(basename(source).replace(/\.\w+$/, '')) || 'openapi'}.json`
}

/** What a program wants to know; the definitions are in the file. */
function told({ definitions: _, ...report }: ImportReport, { definitions: __, ...comparison }: Comparison): object {
  return { ...report, ...comparison }
}
