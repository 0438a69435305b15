import { type CompiledSchema, compileSchema } from '../../core/schema/compiled-schema.ts'
import { guardSchema } from '../../core/schema/guard-schema.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import { APPLICATORS, isObject, schemasUnder } from '../../core/schema/schema-keywords.ts'
import { suggest } from '../../core/suggest.ts'
import type { JsonSchema, Params, ToolDefinition } from '../../core/tool.ts'
import { JsonPath } from '../path/json-path.ts'
import { DEFAULT_MAX_ITEMS, PIPELINE_SCHEMA, type WrittenStep } from './pipeline-schema.ts'

/** What paths lead through. `item` exists in steps with `for_each`. */
export interface Scope {
  readonly params: Params
  readonly steps: Readonly<Record<string, unknown>>
  readonly item?: unknown
}

type Fill = (scope: Scope) => unknown

export interface Step {
  readonly id: string
  readonly tool: string
  readonly params: Fill
  /** The paths in `params`. */
  readonly paths: ReadonlyMap<string, JsonPath>
  /** Texts in `params` that look like paths. */
  readonly texts: readonly string[]
  readonly when: CompiledSchema | undefined
  readonly items: JsonPath | undefined
  readonly maxItems: number
  /** The value instead of a failed call; undefined: the pipeline fails. */
  readonly onError: { readonly value: unknown } | undefined
  /** The steps that must end first. */
  readonly after: ReadonlySet<string>
}

export interface Plan {
  /** What looks like a mistake. */
  readonly warning: string | undefined
  readonly steps: readonly Step[]
  readonly output: Fill
}

/** A path without its object, or a placeholder of another template language. */
const LIKE_A_PATH = /^\$\.(params|steps|item)\b|^\{\{[^{}]{1,100}\}\}$/

const schema = compileSchema(PIPELINE_SCHEMA)

/** Reads the steps of a pipeline. Throws an error that names the step and what is wrong. */
export function planOf({ implementation, parameters }: ToolDefinition): Plan {
  if (schema.check?.(implementation) !== true) {
    const problems = schema.explain(implementation).map(({ message }) => message)
    throw new Error(problems.join(', '))
  }
  const written = implementation.steps as readonly WrittenStep[]
  const ids = written.map(({ id }) => id)
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index)
  if (repeated !== undefined) throw new Error(`There are two steps '${repeated}': rename one of them`)
  const names = { ids, parameters }
  const steps = written.map((step, index) => readStep(step, { ...names, before: ids.slice(0, index) }))
  checkCycles(steps)
  const last = ids.at(-1) as string
  const { output } = implementation
  const result = new Template(names, 'output', false)
  const filled = output === undefined ? undefined : result.compile(output)
  const [text] = [...steps.flatMap(({ texts }) => texts), ...result.texts]
  const warning =
    text === undefined ? undefined : `The text ${quoted(text)} is passed on as it is. For a value, write {"$": path}`
  return { steps, warning, output: filled === undefined ? ({ steps: done }) => done[last] ?? null : filled }
}

interface Names {
  readonly ids: readonly string[]
  readonly parameters: JsonSchema
}

function readStep(step: WrittenStep, names: Names & { readonly before: readonly string[] }): Step {
  const place = `Step '${step.id}'`
  const template = new Template(names, place, step.for_each !== undefined)
  const list = new Template(names, place, false)
  const params = template.compile(step.params ?? {})
  const items = step.for_each && list.path(step.for_each.$)
  const { ids: inWhen, compiled } = readCondition(step.when, names.ids, place)
  const after = new Set([...template.ids, ...list.ids, ...inWhen])
  if (template.readsAll || list.readsAll) for (const id of names.before) after.add(id)
  const { id, tool, on_error: onError = 'fail', max_items: maxItems = DEFAULT_MAX_ITEMS } = step
  const instead = onError === 'continue' ? { value: null } : onError
  const { paths, texts } = template
  return {
    id,
    tool,
    params,
    paths,
    texts,
    when: compiled,
    items,
    maxItems,
    after,
    onError: instead === 'fail' ? undefined : instead,
  }
}

/** Compiles JSON in which `{"$": path}` stands for a value, and collects the steps that it reads. */
class Template {
  readonly ids = new Set<string>()
  readonly paths = new Map<string, JsonPath>()
  /** Texts that look like paths, and are passed on as they are. */
  readonly texts: string[] = []
  /** Set if a path leads through all steps. */
  readsAll = false
  readonly #names: Names
  readonly #place: string
  readonly #hasItem: boolean

  constructor(names: Names, place: string, hasItem: boolean) {
    this.#names = names
    this.#place = place
    this.#hasItem = hasItem
  }

  compile(value: unknown): Fill {
    if (Array.isArray(value)) {
      const fills = value.map((one) => this.compile(one))
      return (scope) => fills.map((fill) => fill(scope))
    }
    if (typeof value === 'string' && LIKE_A_PATH.test(value)) this.texts.push(value)
    if (!isObject(value)) return () => value
    if (Object.hasOwn(value, '$')) {
      const path = this.#reference(value)
      return (scope) => path.find(scope)
    }
    const entries = Object.entries(value).map(([key, one]) => [key, this.compile(one)] as const)
    return (scope) => Object.fromEntries(entries.map(([key, fill]) => [key, fill(scope)]))
  }

  path(text: string): JsonPath {
    let path: JsonPath
    try {
      path = new JsonPath(text)
    } catch (error) {
      throw new Error(`${this.#place}: ${(error as Error).message}`)
    }
    this.paths.set(text, path)
    const [root, name] = path.names
    if (root === 'steps' && name !== undefined) this.#readStep(name, text)
    else if (root === 'params') this.#checkParameter(name, text)
    else if (root === 'item' && !this.#hasItem)
      throw this.#nothing(text, 'only parameters of a step with for_each have an item')
    else if (root !== 'item' && root !== 'steps' && root !== undefined)
      throw this.#nothing(text, `paths begin with $.params or $.steps${this.#rootFor(root)}`)
    else if (root !== 'item') this.readsAll = true
    return path
  }

  /** Names of steps and parameters need their root. */
  #rootFor(name: string): string {
    const { ids, parameters } = this.#names
    const isParameter = Object.hasOwn(Object(parameters.properties), name)
    if (!isParameter && !ids.includes(name)) return ''
    return `. Did you mean $.${isParameter ? 'params' : 'steps'}.${name}?`
  }

  #reference(value: Readonly<Record<string, unknown>>): JsonPath {
    const { $: path, ...others } = value
    const [other] = Object.keys(others)
    if (typeof path !== 'string') throw new Error(`${this.#place}: "$" must be a JSONPath, not ${quoted(path)}`)
    if (other !== undefined) {
      throw new Error(`${this.#place}: an object with "$" stands for a value and has no other keys, such as '${other}'`)
    }
    return this.path(path)
  }

  #readStep(id: string, path: string): void {
    const { ids } = this.#names
    if (!ids.includes(id)) throw this.#nothing(path, `there is no step '${id}'${didYouMean(id, ids)}`)
    this.ids.add(id)
  }

  #checkParameter(name: string | undefined, path: string): void {
    const { properties, ...others } = this.#names.parameters
    if (name === undefined || !isObject(properties) || Object.hasOwn(properties, name)) return
    // Other keywords may allow it.
    const { additionalProperties = false, patternProperties, ...rest } = others
    const isOpen = additionalProperties !== false || patternProperties !== undefined
    if (isOpen || Object.keys(rest).some((key) => APPLICATORS.has(key) || key === '$ref')) return
    throw this.#nothing(path, `there is no parameter '${name}'${didYouMean(name, Object.keys(properties))}`)
  }

  #nothing(path: string, why: string): Error {
    return new Error(`${this.#place}: ${JSON.stringify(path)} refers to nothing: ${why}`)
  }
}

function didYouMean(name: string, known: readonly string[]): string {
  const [near] = suggest(name, known)
  return near === undefined ? '' : `. Did you mean '${near}'?`
}

function readCondition(when: JsonSchema | undefined, ids: readonly string[], place: string) {
  if (when === undefined) return { ids: [], compiled: undefined }
  let compiled: CompiledSchema
  try {
    guardSchema(when)
    compiled = compileSchema(when)
  } catch (error) {
    throw new Error(`${place}: 'when' is not a valid JSON Schema: ${(error as Error).message}`)
  }
  if (compiled.check === undefined) throw new Error(`${place}: 'when' is too complex: use fewer nested conditions`)
  const read = new Set<string>()
  stepsIn(when, read)
  const unknown = [...read].find((id) => !ids.includes(id))
  if (unknown !== undefined) {
    throw new Error(`${place}: 'when' refers to nothing: there is no step '${unknown}'${didYouMean(unknown, ids)}`)
  }
  return { ids: [...read], compiled }
}

/** The steps that a schema of {params, steps} mentions. */
function stepsIn(when: unknown, found: Set<string>): void {
  if (!isObject(when)) return
  const { properties } = when
  if (isObject(properties) && isObject(properties.steps)) {
    const { properties: named, required } = properties.steps
    for (const id of Object.keys(Object(named))) found.add(id)
    if (Array.isArray(required)) for (const id of required) found.add(String(id))
  }
  for (const [keyword, { shape, place }] of APPLICATORS) {
    // Only those that apply to the same value.
    if (place !== 'here' || !Object.hasOwn(when, keyword)) continue
    for (const [inner] of schemasUnder(shape, when[keyword])) stepsIn(inner, found)
  }
}

function checkCycles(steps: readonly Step[]): void {
  const byId = new Map(steps.map((step) => [step.id, step]))
  const done = new Set<string>()
  const visit = (id: string, path: readonly string[]): void => {
    if (path.includes(id))
      throw new Error(`The steps wait for each other: ${[...path.slice(path.indexOf(id)), id].join(' → ')}`)
    if (done.has(id)) return
    for (const next of byId.get(id)?.after ?? []) visit(next, [...path, id])
    done.add(id)
  }
  for (const { id } of steps) visit(id, [])
}
