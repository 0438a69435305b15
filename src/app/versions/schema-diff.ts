import { compareVersions } from '../../core/execution/tool-view.ts'
import { canonicalText } from '../../core/json/canonical-text.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import { setOwn } from '../../core/json/json-type.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema, ToolDefinition } from '../../core/tool.ts'

/** What callers notice of a newer version. */
interface DefinitionChange {
  /** Whether calls that worked may fail, or run differently. */
  readonly breaking: boolean
  readonly change: string
}

const MAX_DEPTH = 20
/** Keywords whose changes are compared one by one. */
const COMPARED = new Set(['type', 'enum', 'const', 'properties', 'required', 'items', 'additionalProperties'])
/** Keywords that check nothing. */
const WORDS = new Set(['description', 'title', 'examples', 'default', '$comment', 'deprecated', '$schema', '$id'])
const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
/** Keywords whose removal may refuse values that were accepted. */
const NEEDED = ['$ref', '$dynamicRef', '$defs', 'definitions', 'patternProperties', 'prefixItems', 'minContains']
const EFFECTS = ['read', 'idempotent', 'write']

/** What changed for callers between two versions. What can't be compared counts as breaking. */
export function compareDefinitions(before: ToolDefinition, after: ToolDefinition): DefinitionChange[] {
  const changes: DefinitionChange[] = []
  const note = (breaking: boolean, change: string): void => void changes.push({ breaking, change })
  compareSchemas(withMigrations(before.parameters, after), after.parameters, '', note, 0)
  if (before.description !== after.description) note(false, 'The description changed')
  const effects = [before.effect, after.effect]
  if (effects[0] !== effects[1]) {
    const isStronger = EFFECTS.indexOf(after.effect ?? 'write') > EFFECTS.indexOf(before.effect ?? 'write')
    note(isStronger, `effect changed from ${effects[0] ?? 'its default'} to ${effects[1] ?? 'its default'}`)
  }
  const added = (after.permissions ?? []).filter((one) => !before.permissions?.includes(one))
  const removed = (before.permissions ?? []).filter((one) => !after.permissions?.includes(one))
  if (added.length > 0) note(true, `Callers need the permission ${added.join(', ')}`)
  if (removed.length > 0) note(false, `Callers no longer need the permission ${removed.join(', ')}`)
  if (!before.approval && after.approval) note(true, 'Calls need approval')
  if (before.approval && after.approval && canonicalText(before.approval) !== canonicalText(after.approval))
    note(true, 'The approval rule changed')
  if (before.approval && !after.approval) note(false, 'Calls no longer need approval')
  if (before.deprecated === undefined && after.deprecated !== undefined) note(false, 'The version is deprecated')
  return changes
}

/** The older parameters as the migrations of the newer version pass them on, by the rules of calls. */
function withMigrations(schema: JsonSchema, { migrate = [], parameters }: ToolDefinition): JsonSchema {
  const properties: Record<string, unknown> = { ...propertiesOf(schema) }
  const declared = propertiesOf(parameters)
  let required = [...namesIn(schema.required)]
  for (const { rename = {}, defaults = {}, drop = [] } of migrate.toSorted((a, b) => compareVersions(a.from, b.from))) {
    const names = [...Object.keys(rename), ...drop]
    const old = names.filter((one) => Object.hasOwn(properties, one) && !Object.hasOwn(declared, one))
    // A migration that a call may not need doesn't fill in its defaults.
    const isCertain = names.length === 0 || old.some((one) => required.includes(one))
    for (const one of old) {
      const name = Object.hasOwn(rename, one) ? rename[one] : undefined
      if (name !== undefined && !Object.hasOwn(properties, name)) setOwn(properties, name, properties[one])
      delete properties[one]
      required = required.flatMap((needed) => (needed === one ? (name ?? []) : needed))
    }
    for (const [name, value] of isCertain ? Object.entries(defaults) : []) {
      if (!Object.hasOwn(properties, name)) setOwn(properties, name, { const: value })
      if (!required.includes(name)) required.push(name)
    }
  }
  return { ...schema, properties, required }
}

type Note = (breaking: boolean, change: string) => void

function compareSchemas(before: unknown, after: unknown, at: string, note: Note, depth: number): void {
  if (canonicalText(before ?? null) === canonicalText(after ?? null)) return
  const place = at === '' ? 'The parameters' : at
  if (!isObject(before) || !isObject(after) || depth > MAX_DEPTH) {
    note(after !== true && !(isObject(after) && Object.keys(after).length === 0), `${place} changed`)
    return
  }
  compareValues(before, after, place, note)
  compareProperties(before, after, at, note, depth)
  if (before.items !== undefined || after.items !== undefined) {
    compareSchemas(before.items ?? true, after.items ?? true, `${at}[]`, note, depth + 1)
  }
  for (const keyword of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (COMPARED.has(keyword) || WORDS.has(keyword)) continue
    const isNeeded = NEEDED.includes(keyword) || 'unevaluatedProperties' in after || 'unevaluatedItems' in after
    compareKeyword(keyword, before[keyword], after[keyword], place, isNeeded, note)
  }
}

/** `type`, `enum` and `const`: the values that are accepted. */
function compareValues(before: JsonSchema, after: JsonSchema, place: string, note: Note): void {
  const [was, is] = [typesOf(before), typesOf(after)]
  const accepts = (type: string) => is === undefined || is.has(type) || (type === 'integer' && is.has('number'))
  const lost =
    was === undefined ? is !== undefined && valuesOf(before) === undefined : [...was].some((type) => !accepts(type))
  const words = (types: ReadonlySet<string> | undefined) => (types === undefined ? 'any' : [...types].join(' or '))
  if (words(was) !== words(is)) note(lost, `${place}: type changed from ${words(was)} to ${words(is)}`)
  const [old, now] = [valuesOf(before), valuesOf(after)]
  if (now === undefined) {
    if (old !== undefined) note(false, `${place} accepts any value`)
    return
  }
  if (old === undefined) {
    note(true, `${place} accepts only ${now.join(', ')}`)
    return
  }
  const removed = old.filter((value) => !now.includes(value))
  const added = now.filter((value) => !old.includes(value))
  if (removed.length > 0) note(true, `${place} no longer accepts ${removed.join(', ')}`)
  if (added.length > 0) note(false, `${place} also accepts ${added.join(', ')}`)
}

function compareProperties(before: JsonSchema, after: JsonSchema, at: string, note: Note, depth: number): void {
  const [old, now] = [propertiesOf(before), propertiesOf(after)]
  const [needed, needs] = [namesIn(before.required), namesIn(after.required)]
  const isOpen = after.additionalProperties === undefined || after.additionalProperties === true
  const path = (name: string) => (at === '' ? name : `${at}.${name}`)
  for (const name of Object.keys(old)) {
    if (Object.hasOwn(now, name)) compareSchemas(old[name], now[name], path(name), note, depth + 1)
    // A parameter that is ignored from now on may be as bad as one that is refused.
    else note(true, `${path(name)} was removed${isOpen ? ': its value is ignored' : ''}`)
  }
  for (const name of Object.keys(now)) {
    if (!Object.hasOwn(old, name))
      note(needs.has(name), `${path(name)} was added${needs.has(name) ? ', and is required' : ''}`)
  }
  for (const name of needs) {
    if (!needed.has(name) && (Object.hasOwn(old, name) || !Object.hasOwn(now, name)))
      note(true, `${path(name)} is required`)
  }
  for (const name of needed) if (!needs.has(name) && Object.hasOwn(now, name)) note(false, `${path(name)} is optional`)
  const closed = [before, after].map((schema) => canonicalText(schema.additionalProperties ?? true))
  if (closed[0] !== closed[1])
    note(!isOpen, `Other parameters${at === '' ? '' : ` of ${at}`} are ${isOpen ? 'accepted' : 'restricted'}`)
}

function compareKeyword(
  keyword: string,
  before: unknown,
  after: unknown,
  place: string,
  isNeeded: boolean,
  note: Note,
): void {
  if (canonicalText(before ?? null) === canonicalText(after ?? null)) return
  const change = `${place}: ${keyword} ${before === undefined ? 'was added' : after === undefined ? 'was removed' : 'changed'}`
  const [was, is] = [Number(before), Number(after)]
  const isBound = before !== undefined && after !== undefined
  if (after === undefined) note(isNeeded, change)
  else if (isBound && LOWER_BOUNDS.includes(keyword)) note(!(is <= was), `${change} from ${was} to ${is}`)
  else if (isBound && UPPER_BOUNDS.includes(keyword)) note(!(is >= was), `${change} from ${was} to ${is}`)
  else note(true, change)
}

const propertiesOf = ({ properties }: JsonSchema): Readonly<Record<string, unknown>> =>
  isObject(properties) ? properties : {}

const namesIn = (names: unknown): ReadonlySet<string> => new Set(Array.isArray(names) ? names.map(foreignText) : [])

function typesOf({ type }: JsonSchema): ReadonlySet<string> | undefined {
  return type === undefined ? undefined : new Set([type].flat().map(foreignText).sort())
}

function valuesOf(schema: JsonSchema): readonly string[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value))
  return Object.hasOwn(schema, 'const') ? [JSON.stringify(schema.const)] : undefined
}
