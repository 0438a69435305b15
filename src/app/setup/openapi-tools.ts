import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Config } from '../../config/config.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { HttpImplementation } from '../../kinds/http/definition/http-implementation.ts'
import { download } from '../../kinds/http/exchange/download.ts'
import { effectOf } from '../../kinds/http/request/http-problem-of.ts'
import type { ImportReport } from '../../openapi/import-openapi.ts'
import type { ImportTask } from '../../openapi/import-worker.ts'
import { hostsOf } from '../../openapi/map-security.ts'
import { privateAddresses } from './private-hosts.ts'
import type { NamedSecret } from './references.ts'
import { SetupError } from './setup-error.ts'

/** The value of a credential: a new secret, or a variable of the environment. */
export type Credential = { readonly secret: NamedSecret } | { readonly variable: string }

/** Where an OpenAPI document is, and how it is read. */
export interface OpenapiSource {
  readonly url?: string
  readonly document?: string
  /** Instead of the servers in the document. */
  readonly base_url?: string
  readonly prefix?: string
}

interface SourceContext {
  readonly config: Config
  readonly signal: AbortSignal
  /** Whether the user of this machine asks, whose documents may be on it or in its network. */
  readonly isLocal: boolean
}

const MAX_BYTES = 32 * 1024 * 1024
const MAX_CHOSEN = 100
const MAX_NOTES = 20
const TIMEOUT_MS = 30_000
const MEMORY_MB = 1_024
const ACCEPT = 'application/json, application/yaml, */*;q=0.5'
const PREFIX = /^[A-Za-z0-9_-]{1,32}$/

/** The operations of a document, to choose from. */
export async function openapiPreview(source: OpenapiSource, context: SourceContext) {
  const { title, definitions, refused, variables, notes } = await imported(source, context)
  return {
    title,
    operations: [
      ...definitions.map((tool) => {
        const { method = 'GET', url } = tool.implementation as HttpImplementation
        const path = decodeURI(URL.parse(url)?.pathname ?? '')
        // The importer writes this mark.
        const deprecated = tool.description.startsWith('Deprecated.')
        return { name: tool.name, method, path, summary: tool.description, effect: effectOf(method), deprecated }
      }),
      ...refused.map(({ operation, reason }) => {
        const [method = '', path = operation] = operation.split(' ', 2)
        return { name: operation, method, path, summary: '', effect: null, deprecated: false, problem: reason }
      }),
    ],
    credentials: variables.map((variable) => ({ variable, hosts: hostsOf(variable, definitions) })),
    notes: shownNotes(notes),
  }
}

/** The tools of the chosen operations, the variables that they need, and what to know about them. */
export async function openapiTools(
  source: OpenapiSource & { readonly operations: readonly string[] },
  context: SourceContext,
): Promise<{ readonly definitions: ToolDefinition[]; readonly variables: string[]; readonly notes: string[] }> {
  const chosen = new Set(source.operations)
  if (chosen.size === 0) throw new SetupError(422, 'Choose at least one operation')
  if (chosen.size > MAX_CHOSEN) {
    const fix = 'choose fewer, or run "toolyard import openapi"'
    throw new SetupError(
      422,
      `${chosen.size} operations are chosen, and at most ${MAX_CHOSEN} are added at once: ${fix}`,
    )
  }
  const { definitions, variables, notes } = await imported(source, context)
  const tools = definitions.filter(({ name }) => chosen.has(name))
  const [missing] = [...chosen].filter((name) => tools.every((tool) => tool.name !== name))
  if (missing !== undefined) {
    throw new SetupError(422, `The document has no operation ${JSON.stringify(missing.slice(0, 80))}: read it again`)
  }
  const used = variables.filter((variable) => hostsOf(variable, tools).length > 0)
  return { definitions: tools, variables: used, notes: shownNotes(notes) }
}

const shownNotes = (notes: ImportReport['notes']): string[] =>
  [...new Set(notes.map(({ note }) => note))].slice(0, MAX_NOTES)

async function imported(source: OpenapiSource, context: SourceContext): Promise<ImportReport> {
  const { url, document, base_url, prefix } = source
  if (prefix !== undefined && !PREFIX.test(prefix)) {
    throw new SetupError(
      422,
      `${JSON.stringify(prefix.slice(0, 80))} is not a prefix: use up to 32 letters, digits, _ and -`,
    )
  }
  const more = { ...(base_url !== undefined && { baseUrl: base_url }), ...(prefix !== undefined && { prefix }) }
  if (url === undefined) return inThread({ text: document ?? '', name: 'The document', ...more }, context.signal)
  const found = await fetched(url, context)
  return inThread({ text: found.text, name: 'The document', documentUrl: found.url, ...more }, context.signal)
}

/** Under the network policy of HTTP tools. */
async function fetched(address: string, { config: { http = {} }, signal, isLocal }: SourceContext) {
  const allow_private = [...(http.allow_private ?? []), ...(isLocal ? await privateAddresses([address], http) : [])]
  const settings = { ...http, allow_private }
  const limits = { maxBytes: MAX_BYTES, settings, signal, accept: ACCEPT, tool: 'import openapi' }
  try {
    const { body, url } = await download(address, limits)
    return { text: body.toString('utf8'), url }
  } catch (error) {
    throw new SetupError(422, (error as Error).message.replace(/\.$/, ''))
  }
}

const MODULE = new URL(`../../openapi/import-worker${extname(import.meta.url)}`, import.meta.url)

function inThread(task: ImportTask, signal: AbortSignal): Promise<ImportReport> {
  const worker = new Worker(MODULE, {
    workerData: task,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })
  const late = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const { promise, resolve, reject } = Promise.withResolvers<ImportReport>()
  const refuse = (problem: string) => reject(new SetupError(422, problem.replace(/\.$/, '')))
  const abort = () => refuse(`The document was not read within ${TIMEOUT_MS / 1_000} s: use a smaller one`)
  late.addEventListener('abort', abort, { once: true })
  worker.once('message', ({ report, problem }: { report?: ImportReport; problem?: string }) =>
    report === undefined ? refuse(problem ?? '') : resolve(report),
  )
  worker.once('error', () =>
    refuse("The document can't be read: it needs too much memory, or isn't an OpenAPI document"),
  )
  return promise.finally(() => {
    late.removeEventListener('abort', abort)
    void worker.terminate()
  })
}
