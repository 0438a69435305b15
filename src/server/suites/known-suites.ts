import { access, constants, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Installation } from '../../config/installation.ts'
import { COST_NOTHING } from '../../config/provider-types.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { ModelPrices } from '../../models/catalogue/model-info.ts'
import { splitModelId } from '../../models/catalogue/split-model-id.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import { BFCL_CATEGORIES, dataSetsFolder, questionFile } from '../../validation/bfcl/bfcl-category.ts'
import { loadSuite, loadSuites } from '../../validation/load-suite.ts'
import { planFile, planKey, type SuitesPlan, trialsLeft, trialsOf } from '../../validation/running/run-suites.ts'
import { DEFAULT_UNPRICED_TOKENS } from '../../validation/running/suite-budget.ts'
import type { HashedSuite, TriedModel } from '../../validation/running/trial.ts'
import { estimate, hashSuite } from '../../validation/running/trial.ts'
import { TrialFile } from '../../validation/running/trial-file.ts'
import { SuiteError } from '../../validation/suites/suite.ts'
import { HttpProblem } from '../http/problem.ts'
import { type KnownSuite, limitsOf, type SuiteEstimate, type SuiteRequest } from '../http/views.ts'
import { usableTools } from '../routes/tool-routes.ts'

/** More could not be shown as a whole any more. */
const MAX_TRIALS = 10_000
const FREE: ModelPrices = { input: 0, output: 0 }

/** A plan that can be run, and where it is written down. */
interface PreparedSuites extends SuitesPlan {
  readonly key: string
  readonly file: string
}

/** The tools that can be put into cases of a tenant. */
export function offeredTools(installation: Installation, tenant: string): ToolDefinition[] {
  const registry = installation.manager.getRegistry()
  return usableTools(installation, { tenant }).filter(({ name }) => registry.brokenReason(name) === undefined)
}

/** Loads everything that a run needs. Throws an `HttpProblem` that names what is missing. */
export async function prepareSuites(
  installation: Installation,
  tenant: string,
  request: SuiteRequest,
): Promise<PreparedSuites> {
  const { repeat = 1 } = request
  const models = await modelsOf(installation, request)
  const suites = await suitesOf(installation, tenant, request)
  const cases = suites.reduce((sum, { suite }) => sum + suite.cases.length, 0)
  const trials = cases * models.length * repeat
  if (trials > MAX_TRIALS) {
    throw new HttpProblem(
      400,
      `The run would have ${trials} trials; the limit is ${MAX_TRIALS}`,
      'choose fewer suites or models, repeat less, or set a limit on the cases of each suite',
    )
  }
  const key = planKey({ suites, models, repeat }, tenant)
  return { suites, models, repeat, key, file: planFile(installation.folder, key) }
}

/** What a run would use up, before any of it is spent. */
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

async function modelsOf({ manager, config }: Installation, { models }: SuiteRequest): Promise<TriedModel[]> {
  const catalogue = await manager.getModels()
  try {
    return models.map((id) => {
      const provider = splitModelId(id)?.provider ?? ''
      const free = COST_NOTHING.has(config.providers?.[provider]?.type ?? provider)
      const prices = catalogue.info(id).prices ?? (free ? FREE : undefined)
      return { model: catalogue.get(id), ...(prices !== undefined && { prices }) }
    })
  } catch (error) {
    if (!(error instanceof UnknownModelError)) throw error
    throw new HttpProblem(400, error.message, 'GET /api/models/list lists the models')
  }
}

async function suitesOf(installation: Installation, tenant: string, request: SuiteRequest): Promise<HashedSuite[]> {
  const paths = await Promise.all(
    request.suites.map(async (id) => {
      const path = await suitePath(installation, id)
      if (path !== undefined) return path
      throw new HttpProblem(400, `There is no suite '${id}'`, 'GET /api/suites lists the suites')
    }),
  )
  try {
    const suites = await loadSuites(paths, { definitions: offeredTools(installation, tenant) })
    return suites.map((suite) => hashSuite({ ...suite, cases: suite.cases.slice(0, request.limit) }))
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    throw new HttpProblem(400, 'The suite cannot be run', withoutFolder(installation, error.message))
  }
}

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

/** The loader's source of a suite; undefined if the id is unknown. */
export async function suitePath(installation: Installation, id: string): Promise<string | undefined> {
  if (id === GENERATED) return id
  if (id.startsWith('bfcl:')) return (await yardsticks()).some((one) => one.id === id) ? id : undefined
  return (await suiteFiles(installation)).includes(id) ? join(suitesFolder(installation), id) : undefined
}

/** Hides the paths of this machine. */
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
