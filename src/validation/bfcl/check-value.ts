import { sameJson } from '../../core/schema/same-json.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { acceptedValues, mayBeLeftOut } from './bfcl-answer.ts'
import type { BfclLanguage } from './bfcl-category.ts'
import type { BfclParameter } from './bfcl-function.ts'
import { declaredKind, fits, kindOf, type ValueKind } from './bfcl-type.ts'
import { javaValue } from './java-literal.ts'
import { javascriptValue } from './javascript-literal.ts'

/** What is wrong with a value, if anything is. */
export type ValueFault = 'wrong_type' | 'wrong_value' | undefined

/** Texts are equal when they differ in spaces, `,./-_*^`, case and the kind of quotes only. */
export const standardText = (text: string): string =>
  text
    .replaceAll(/[ ,./\-_*^]/g, '')
    .toLowerCase()
    .replaceAll("'", '"')

/** Judges the value of one parameter by the published rules. */
export function checkValue(
  given: unknown,
  accepted: readonly unknown[],
  parameter: BfclParameter,
  language: BfclLanguage,
): ValueFault {
  const declared = declaredKind(parameter.type) ?? 'any'
  if (language !== 'python' && declared === 'any') return checkAnything(given, accepted)
  const wanted: ValueKind = declared === 'any' ? 'text' : declared
  const value = readLiteral(given, parameter, language)
  const shown = accepted.find((one) => one !== '')
  const acceptedKind = shown === undefined ? undefined : kindOf(shown)
  const declaredFits = fits(kindOf(value), wanted)
  if (!declaredFits && (acceptedKind === undefined || !fits(kindOf(value), acceptedKind))) return 'wrong_type'
  if (declaredFits && wanted === 'list' && !hasItemsOf(value as unknown[], accepted, parameter)) return 'wrong_type'
  // Where the answer is of another type than declared, it names a variable: that is compared as it stands.
  const variable = acceptedKind !== undefined && !fits(acceptedKind, wanted)
  return isAccepted(value, accepted, variable ? undefined : wanted, parameter) ? undefined : 'wrong_value'
}

/** Of `any` in Java and JavaScript only the text counts. */
function checkAnything(given: unknown, accepted: readonly unknown[]): ValueFault {
  const text = (value: unknown) => standardText(typeof value === 'string' ? value : JSON.stringify(value))
  return accepted.some((one) => text(one) === text(given)) ? undefined : 'wrong_value'
}

function readLiteral(given: unknown, { type = '', items }: BfclParameter, language: BfclLanguage): unknown {
  if (typeof given !== 'string' || language === 'python') return given
  return language === 'java' ? javaValue(given, type, items?.type) : javascriptValue(given, type, items?.type)
}

/** Whether all items are of the declared type, or else of that of the items of an accepted list. */
function hasItemsOf(value: readonly unknown[], accepted: readonly unknown[], { items }: BfclParameter): boolean {
  const declared = declaredKind(items?.type)
  if (declared === undefined || declared === 'any') return true
  return accepted.some((one) => {
    if (!Array.isArray(one)) return true
    const shown = one.find((item) => item !== '')
    return value.every((item) => {
      const kind = kindOf(item)
      return fits(kind, declared) || (shown !== undefined && fits(kind, kindOf(shown)))
    })
  })
}

function isAccepted(
  value: unknown,
  accepted: readonly unknown[],
  kind: ValueKind | undefined,
  { items }: BfclParameter,
): boolean {
  if (kind === 'object') return accepted.some((one) => isObject(one) && hasEntries(value, one))
  if (kind === 'list' && declaredKind(items?.type) === 'object') {
    return accepted.some((one) => hasObjects(value as unknown[], one === '' ? [] : one))
  }
  if (kind === 'list') return accepted.some((one) => hasItems(value as unknown[], one === '' ? [] : one))
  return accepted.some((one) => (kind === 'text' ? sameText(value, one) : sameJson(value, one)))
}

/** Text by the rule for text, anything else exactly. */
const sameText = (value: unknown, one: unknown): boolean =>
  typeof value === 'string' && typeof one === 'string'
    ? standardText(value) === standardText(one)
    : sameJson(value, one)

/** Item by item, in order; an empty list is as good as none where the parameter may be left out. */
const hasItems = (value: readonly unknown[], one: unknown): boolean =>
  Array.isArray(one) && one.length === value.length && value.every((item, at) => sameText(item, one[at]))

const hasObjects = (value: readonly unknown[], one: unknown): boolean =>
  Array.isArray(one) &&
  one.length === value.length &&
  value.every((item, at) => isObject(one[at]) && hasEntries(item, one[at]))

/** Key by key; each key has a list of accepted values of its own. */
function hasEntries(value: unknown, one: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(value)) return false
  const known = Object.keys(value).every((key) => {
    return Object.hasOwn(one, key) && acceptedValues(one[key]).some((inner) => sameText(value[key], inner))
  })
  return known && Object.keys(one).every((key) => Object.hasOwn(value, key) || mayBeLeftOut(acceptedValues(one[key])))
}
