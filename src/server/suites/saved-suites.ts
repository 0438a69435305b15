import { hash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { type Caller, mayRead } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import { usableTools } from '../../app/tools/usable-tools.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { CassetteError, callCase, cassetteCase, runCassette } from '../../validation/cassettes/cassette.ts'
import { loadSuite } from '../../validation/load-suite.ts'
import { type FileCase, SuiteError, type SuiteFile } from '../../validation/suites/suite.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { exactly, object, route } from '../http/route.ts'

/** The beginning of the id of a saved suite; its name follows. */
export const SAVED = 'saved/'
const NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/
const MAX_SUITES = 20
const MAX_CASES = 200
const MAX_BYTES = 1_000_000

type Owner = Pick<Caller, 'tenant'>

/** The suites that a tenant saves. The hash tells apart tenants whose names would be the same folder. */
function folderOf({ folder }: Installation, { tenant }: Owner): string {
  const name = `${tenant.replaceAll(/[^\w-]/g, '_').slice(0, 64)}-${hash('sha256', tenant).slice(0, 16)}`
  return join(folder, 'suites', 'saved', name)
}

/** The names of the suites that a tenant has saved. */
export async function savedNames(installation: Installation, owner: Owner): Promise<string[]> {
  const files = await readdir(folderOf(installation, owner)).catch(() => [])
  const names = files.flatMap((file) => (file.endsWith('.json') ? file.slice(0, -'.json'.length) : []))
  return names.filter((name) => NAME.test(name)).sort()
}

export const savedPath = (installation: Installation, owner: Owner, name: string): string =>
  join(folderOf(installation, owner), `${name}.json`)

const SUITE = object(
  {
    name: { type: 'string' },
    cases: { type: 'array', items: { type: 'object', additionalProperties: true } },
  },
  'The suite',
)
const SAVED_CASE = object(
  {
    suite: { type: 'string', description: 'The id of the suite, as in GET /api/suites.' },
    case: { type: 'object', additionalProperties: true },
  },
  'The saved case',
)
const CASE = { type: 'object', additionalProperties: true, description: 'A case of a suite file.' }
const SUITE_NAME = object({ name: { type: 'string', pattern: NAME.source } })
const CASE_ID = object({
  name: { type: 'string', pattern: NAME.source },
  id: { type: 'string', minLength: 1, maxLength: 200 },
})
const ID = { type: 'string', minLength: 1, maxLength: 200 }
const NEW_CASE = {
  ...exactly({
    case: CASE,
    run_id: { ...ID, description: 'Makes the case from a recorded run.' },
    call_id: { ...ID, description: 'Makes the case from a call: the id of its row in the audit log.' },
  }),
  minProperties: 1,
  maxProperties: 1,
}

interface NewCase {
  readonly case?: FileCase
  readonly run_id?: string
  readonly call_id?: string
}

interface OneSuite {
  readonly Params: { readonly name: string }
}

interface OneCase {
  readonly Params: { readonly name: string; readonly id: string }
}

/** Suites that callers save and edit. Each tenant has its own. */
export function savedSuiteRoutes(app: FastifyInstance): void {
  const { installation } = app
  const suites = new SavedSuites(installation)

  app.get<OneSuite>(
    '/api/suites/saved/:name',
    route('validate', 'models', 'Returns a saved suite with its cases', {
      params: SUITE_NAME,
      response: { 200: SUITE },
    }),
    async ({ caller, params: { name } }) =>
      found(await suites.read(caller, name), `Suite '${SAVED}${name}'`, 'GET /api/suites lists the suites'),
  )

  app.post<OneSuite & { Body: NewCase }>(
    '/api/suites/saved/:name/cases',
    route('validate', 'models', 'Adds a case to a saved suite, also one made from a run or a call', {
      params: SUITE_NAME,
      body: NEW_CASE,
      response: { 201: SAVED_CASE },
    }),
    async ({ caller, params: { name }, body }, reply) => {
      const added = body.case ?? (await caseOf(installation, caller, body))
      const saved = await suites.add(caller, name, added)
      return reply.code(201).send({ suite: `${SAVED}${name}`, case: saved })
    },
  )

  app.put<OneCase & { Body: FileCase }>(
    '/api/suites/saved/:name/cases/:id',
    route('validate', 'models', 'Replaces a case of a saved suite', {
      params: CASE_ID,
      body: CASE,
      response: { 200: SAVED_CASE },
    }),
    async ({ caller, params: { name, id }, body }) => ({
      suite: `${SAVED}${name}`,
      case: await suites.replace(caller, name, id, body),
    }),
  )

  app.delete<OneCase>(
    '/api/suites/saved/:name/cases/:id',
    route('validate', 'models', 'Removes a case of a saved suite, and the suite with its last case', {
      params: CASE_ID,
      response: { 204: { description: 'Removed', type: 'null' } },
    }),
    async ({ caller, params: { name, id } }, reply) => {
      await suites.replace(caller, name, id, undefined)
      return reply.code(204).send()
    },
  )
}

/** The case of a run, or of a call: that of its run, if it belongs to one that was recorded. */
async function caseOf(installation: Installation, caller: Caller, { run_id, call_id }: NewCase): Promise<FileCase> {
  const { runs, ledger } = installation.storage
  if (!caller.scopes.has('observe')) {
    throw new HttpProblem(403, "Making a case from a run or a call needs the scope 'observe'")
  }
  await installation.settle()
  try {
    if (run_id !== undefined) {
      const run = await runs.get(caller.tenant, run_id)
      return caseOfRun(found(mayRead(caller, run) ? run : undefined, `Run '${run_id}'`))
    }
    const { row, payload } = found(await ledger.row(caller.tenant, call_id ?? ''), `Call '${call_id}'`)
    const run = row.run_id === null ? undefined : await runs.get(caller.tenant, row.run_id)
    if (run?.recording !== undefined) return caseOfRun(run)
    return callCase(row, payload)
  } catch (error) {
    if (error instanceof CassetteError) throw new HttpProblem(409, error.message)
    throw error
  }
}

const caseOfRun = (run: StoredRun): FileCase => cassetteCase(runCassette(run))

/** The files of saved suites. One change at a time runs in this process. */
class SavedSuites {
  readonly #installation: Installation
  #last: Promise<unknown> = Promise.resolve()

  constructor(installation: Installation) {
    this.#installation = installation
  }

  async read(owner: Owner, name: string): Promise<(SuiteFile & { readonly name: string }) | undefined> {
    const text = await readFile(savedPath(this.#installation, owner, name), 'utf8').catch(() => undefined)
    if (text === undefined) return undefined
    try {
      const { cases } = JSON.parse(text) as SuiteFile
      return { name, cases: cases.map((one, index) => ({ ...one, id: one.id ?? `case ${index + 1}` })) }
    } catch {
      throw new HttpProblem(409, `The file of the suite '${SAVED}${name}' can't be read`, 'correct or remove it')
    }
  }

  add(caller: Caller, name: string, added: FileCase): Promise<FileCase> {
    return this.#change(caller, name, 'added', async (cases) => {
      const names = cases.length > 0 ? [] : await savedNames(this.#installation, caller)
      if (names.length >= MAX_SUITES && !names.includes(name)) {
        throw new HttpProblem(
          409,
          `Your tenant has ${MAX_SUITES} saved suites, the most that are allowed`,
          'remove one',
        )
      }
      if (cases.length >= MAX_CASES) {
        throw new HttpProblem(
          409,
          `The suite has ${MAX_CASES} cases, the most that are allowed`,
          'save to another suite',
        )
      }
      const id = freeId(added.id ?? `case-${cases.length + 1}`, new Set(cases.map((one) => one.id)))
      const saved = { ...added, id }
      return { cases: [...cases, saved], saved }
    })
  }

  /** Removes the case if there is no other in its place. */
  replace(caller: Caller, name: string, id: string, next: FileCase | undefined): Promise<FileCase> {
    return this.#change(caller, name, next === undefined ? 'removed' : 'changed', async (cases) => {
      const at = cases.findIndex((one) => one.id === id)
      const before = found(cases[at], `Case '${id}' of the suite '${SAVED}${name}'`)
      const saved = next === undefined ? before : { ...next, id: next.id ?? id }
      return { cases: next === undefined ? cases.toSpliced(at, 1) : cases.with(at, saved), saved }
    })
  }

  #change(
    caller: Caller,
    name: string,
    change: string,
    work: (cases: readonly FileCase[]) => Promise<{ readonly cases: readonly FileCase[]; readonly saved: FileCase }>,
  ): Promise<FileCase> {
    const changed = this.#last.then(async () => {
      const { cases, saved } = await work((await this.read(caller, name))?.cases ?? [])
      await this.#write(caller, name, cases)
      const detail = { case: saved.id, change }
      await this.#installation.events.record('suite.changed', {
        by: caller,
        tenant: caller.tenant,
        subject: `${SAVED}${name}`,
        detail,
      })
      return saved
    })
    this.#last = changed.catch(() => {})
    return changed
  }

  /** Readers see the file before or after. A suite that can't be loaded is not written. */
  async #write(caller: Caller, name: string, cases: readonly FileCase[]): Promise<void> {
    const installation = this.#installation
    const path = savedPath(installation, caller, name)
    if (cases.length === 0) return rm(path, { force: true })
    const text = `${JSON.stringify({ name, cases }, null, 2)}\n`
    if (Buffer.byteLength(text) > MAX_BYTES) {
      throw new HttpProblem(
        413,
        `The suite would have more than ${MAX_BYTES} bytes`,
        'shorten a case, or use another suite',
      )
    }
    const folder = folderOf(installation, caller)
    const next = join(folder, `.${randomUUID()}.json`)
    try {
      await mkdir(folder, { recursive: true })
      await writeFile(next, text, { flag: 'wx', mode: 0o600 })
      await checkSuite(next, usableTools(installation, caller))
      await rename(next, path)
    } catch (error) {
      await rm(next, { force: true }).catch(() => {})
      const { code } = error as NodeJS.ErrnoException
      if (code === undefined) throw error
      throw new HttpProblem(409, 'The server could not write the suite', `${code}: ask its administrator`)
    }
  }
}

async function checkSuite(path: string, definitions: readonly ToolDefinition[]): Promise<void> {
  try {
    await loadSuite(path, { definitions })
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    throw new HttpProblem(
      400,
      'The case is not valid',
      error.message.replaceAll(`${path}: `, '').replaceAll(path, 'it'),
    )
  }
}

function freeId(id: string, taken: ReadonlySet<string | undefined>): string {
  for (let number = 1; ; number++) {
    const next = number === 1 ? id : `${id}-${number}`
    if (!taken.has(next)) return next
  }
}
