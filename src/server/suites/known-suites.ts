import { access, constants, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Caller } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import { usableTools } from '../../app/tools/usable-tools.ts'
import { COST_NOTHING } from '../../config/model-settings.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { type ModelPrices, splitModelId } from '../../models/model-info.ts'
import { BFCL_CATEGORIES, dataSetsFolder, questionFile } from '../../validation/bfcl/bfcl-category.ts'
import { loadSuite, loadSuites } from '../../validation/load-suite.ts'
import { planFile, planKey, type SuitesPlan, trialsLeft, trialsOf } from '../../validation/running/run-suites.ts'
import { DEFAULT_UNPRICED_TOKENS } from '../../validation/running/suite-budget.ts'
import { estimate, type HashedSuite, hashSuite, type TriedModel } from '../../validation/running/trial.ts'
import { TrialFile } from '../../validation/running/trial-file.ts'
import { SuiteError } from '../../validation/suites/suite.ts'
import { HttpProblem } from '../http/problem.ts'
import { type KnownSuite, limitsOf, type SuiteEstimate, type SuiteRequest } from '../http/views.ts'
import { SAVED, savedNames, savedPath } from './saved-suites.ts'

/** A report with more trials would be too large for the web UI. */
const MAX_TRIALS = 10_000
const FREE: ModelPrices = { input: 0, output: 0 }

/** A plan, and the file for its trials. */
interface PreparedSuites extends SuitesPlan {
  readonly key: string
  readonly file: string
}

/** The part of a caller that decides what its suite runs may use. */
type SuiteCaller = Pick<Caller, 'tenant' | 'tools' | 'models'>

/** The tools that a caller may use and that work. */
function offeredTools(installation: Installation, caller: SuiteCaller): ToolDefinition[] {
  const registry = installation.manager.getRegistry()
  return usableTools(installation, caller).filter(({ name }) => registry.invalidReason(name) === undefined)
}

/** Loads the models and suites of a run. Throws an `HttpProblem` that names what is missing. */
export async function prepareSuites(
  installation: Installation,
  caller: SuiteCaller,
  request: SuiteRequest,
): Promise<PreparedSuites> {
  const { repeat = 1 } = request
  const models = await modelsOf(installation, caller, request)
  const suites = await suitesOf(installation, caller, request)
  const cases = suites.reduce((sum, { suite }) => sum + suite.cases.length, 0)
  const trials = cases * models.length * repeat
  if (trials > MAX_TRIALS) {
    throw new HttpProblem(
      400,
      `The run would have ${trials} trials; the limit is ${MAX_TRIALS}`,
      'choose fewer suites or models, repeat less, or set a limit on the cases of each suite',
    )
  }
  const key = planKey({ suites, models, repeat }, caller.tenant)
  return { suites, models, repeat, key, file: planFile(installation.folder, key) }
}

/** Estimates the tokens and cost of a run. */
export async function estimateSuites(prepared: PreparedSuites, request: SuiteRequest): Promise<SuiteEstimate> {
  const { key, file, models } = prepared
  const planned = trialsOf(prepared)
  const left = request.fresh ? planned : trialsLeft(planned, await TrialFile.earlier(file, key, planned))
  const { tokens, cost } = estimate(left)
  const unpriced = models.filter(({ prices }) => prices === undefined).map(({ model }) => model.id)
  const most = limitsOf(request)
  return {
    trials: planned.length,
    made_before: planned.length - left.length,
    tokens,
    cost: cost ?? null,
    free: models.every(({ prices }) => prices?.input === 0 && prices.output === 0),
    unpriced,
    most: { cost: most.cost, tokens: most.tokens ?? (unpriced.length > 0 ? DEFAULT_UNPRICED_TOKENS : null) },
  }
}

async function modelsOf(
  { manager, config }: Installation,
  { models: only }: SuiteCaller,
  { models }: SuiteRequest,
): Promise<TriedModel[]> {
  const catalogue = await manager.getModels()
  try {
    return models.map((id) => {
      const provider = splitModelId(id)?.provider ?? ''
      const free = COST_NOTHING.has(config.providers?.[provider]?.type ?? provider)
      const prices = catalogue.info(id).prices ?? (free ? FREE : undefined)
      return { model: catalogue.get(id, only), prices }
    })
  } catch (error) {
    if (!(error instanceof UnknownModelError)) throw error
    throw new HttpProblem(400, error.message, 'GET /api/models/list lists the models')
  }
}

async function suitesOf(
  installation: Installation,
  caller: SuiteCaller,
  request: SuiteRequest,
): Promise<HashedSuite[]> {
  const paths = await Promise.all(
    request.suites.map(async (id) => {
      const path = await suitePath(installation, caller, id)
      if (path !== undefined) return path
      throw new HttpProblem(400, `There is no suite '${id}'`, 'GET /api/suites lists the suites')
    }),
  )
  try {
    const suites = await loadSuites(paths, { definitions: offeredTools(installation, caller) })
    return suites.map((suite) => hashSuite({ ...suite, cases: suite.cases.slice(0, request.limit) }))
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    throw new HttpProblem(400, 'The suite cannot be run', withoutFolder(installation, error.message))
  }
}

const GENERATED = 'generated'
const SUITE_FILE = /^[^./\\][^/\\]*\.(?:json|jsonl|ndjson)$/i

/** The folder for suite files. */
const suitesFolder = ({ folder }: Installation): string => join(folder, 'suites')

/** Whether the server can write to the suites folder, or create it. */
export async function isWritable(installation: Installation): Promise<boolean> {
  const folder = suitesFolder(installation)
  return canAccess((await canAccess(folder)) ? folder : installation.folder, constants.W_OK)
}

const canAccess = (path: string, mode?: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

/** All suites, including invalid files with their problem. */
export async function knownSuites(installation: Installation, caller: SuiteCaller): Promise<KnownSuite[]> {
  const definitions = offeredTools(installation, caller)
  const files = await suiteFiles(installation)
  const read = await Promise.all(files.map((file) => fileSuite(installation, file, definitions)))
  const saved = await Promise.all(
    (await savedNames(installation, caller)).map(async (name): Promise<KnownSuite> => {
      const suite = await fileSuite(installation, savedPath(installation, caller, name), definitions)
      return { ...suite, id: `${SAVED}${name}`, kind: 'saved', name }
    }),
  )
  return [{ id: GENERATED, kind: 'generated', name: GENERATED }, ...saved, ...read, ...(await bfclSuites())]
}

/** The loader's source of a suite; undefined if the id is unknown. */
async function suitePath(installation: Installation, caller: SuiteCaller, id: string): Promise<string | undefined> {
  if (id === GENERATED) return id
  if (id.startsWith(SAVED)) {
    const name = id.slice(SAVED.length)
    const isSaved = (await savedNames(installation, caller)).includes(name)
    return isSaved ? savedPath(installation, caller, name) : undefined
  }
  if (id.startsWith('bfcl:')) return (await bfclSuites()).some((one) => one.id === id) ? id : undefined
  return (await suiteFiles(installation)).includes(id) ? join(suitesFolder(installation), id) : undefined
}

/** Hides the paths of this machine. */
const withoutFolder = (installation: Installation, message: string): string =>
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
    const { name, cases, remark } = await loadSuite(resolve(suitesFolder(installation), id), { definitions })
    return { id, kind: 'file', name, cases: cases.length, remark }
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    return { id, kind: 'file', name: id, problem: withoutFolder(installation, error.message) }
  }
}

/** The BFCL categories whose data is on this machine. */
async function bfclSuites(): Promise<KnownSuite[]> {
  let folder: string
  try {
    folder = dataSetsFolder()
  } catch {
    return []
  }
  const there = await Promise.all(BFCL_CATEGORIES.map((category) => canAccess(questionFile(folder, category))))
  return BFCL_CATEGORIES.filter((_, index) => there[index]).map(({ name }) => ({
    id: `bfcl:${name}`,
    kind: 'bfcl',
    name: `bfcl:${name}`,
  }))
}
