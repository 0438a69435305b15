import { isDeepStrictEqual } from 'node:util'
import { bodyShape } from './body-shape.ts'
import { at, type DocumentTree } from './document-tree.ts'
import { ReceivedPairs } from './received-pairs.ts'
import type { Received } from './recording-server.ts'
import type { StatedBody } from './stated-request.ts'
import { writtenPairs } from './written-value.ts'

/** What was given for a body: its keys by the API's names, or the whole of it. */
export type GivenBody = { readonly keys: ReadonlyMap<string, unknown> } | { readonly whole: unknown }

const bare = (type: string): string => (type.split(';', 1)[0] ?? '').trim().toLowerCase()
const isForm = (type: string): boolean => type === 'application/x-www-form-urlencoded'

/** What is wrong with a body that came, in the terms of its document. */
export function checkBody(
  received: Received,
  stated: StatedBody | undefined,
  given: GivenBody,
  tree: DocumentTree,
): string[] {
  const type = bare(received.headers['content-type'] ?? '')
  if (stated === undefined || received.method === 'GET' || received.method === 'HEAD') {
    return received.body === '' && type === '' ? [] : [`a body came, and the document has none: ${received.body}`]
  }
  const isNothing = 'whole' in given && given.whole === undefined
  if (isNothing) return received.body === '' ? [] : [`a body came, and nothing was given for it: ${received.body}`]
  const named = [...stated.content.keys()].find((one) => bare(one) === type || /\*/.test(one))
  if (named === undefined)
    return [`the body came as '${type}', which is none of ${[...stated.content.keys()].join(', ')}`]
  const schema = stated.content.get(named)
  const problems = isForm(type)
    ? checkForm(received.body, stated, given)
    : /json/.test(type)
      ? checkJson(received.body, given)
      : 'whole' in given && received.body !== given.whole
        ? [`the body is ${JSON.stringify(received.body)}, not ${JSON.stringify(given.whole)}`]
        : []
  return [...problems, ...checkShape(schema, given, stated, tree)]
}

function checkJson(text: string, given: GivenBody): string[] {
  const wanted = 'whole' in given ? given.whole : Object.fromEntries(given.keys)
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    return [`the body is no JSON: ${text}`]
  }
  return isDeepStrictEqual(found, wanted) ? [] : [`the body is ${text}, not ${JSON.stringify(wanted)}`]
}

function checkForm(text: string, { encoding }: StatedBody, given: GivenBody): string[] {
  const pairs = new ReceivedPairs(text, '&', 'the field')
  const fields = 'whole' in given ? Object.entries(Object(given.whole)) : [...given.keys]
  const problems = fields.flatMap(([name, value]) => {
    const { style, explode } = encoding.get(name) ?? {}
    // Where nothing is said of it, an object is sent as JSON.
    const isText = typeof value === 'object' && value !== null && !Array.isArray(value) && style === undefined
    const given = isText ? JSON.stringify(value) : value
    const written = { name, style: style ?? 'form', explode: explode ?? (style ?? 'form') === 'form' }
    return writtenPairs(written, given).flatMap((pair) => pairs.take(pair))
  })
  return [...problems, ...pairs.left()]
}

/** Whether the keys that came are those that the document names, and none is missing that it requires. */
function checkShape(schema: unknown, given: GivenBody, stated: StatedBody, tree: DocumentTree): string[] {
  const type = at(tree.resolve(schema), 'type')
  if ('whole' in given) {
    const isList = Array.isArray(given.whole)
    return type === 'array' && !isList ? ['the body is a list in the document, and came as something else'] : []
  }
  if (type === 'array' || type === 'string')
    return [`the body is of type ${type} in the document, and came as an object`]
  const { names, required, open } = bodyShape(schema, tree)
  const strange = [...given.keys.keys()].filter((name) => !names.has(name) && !open)
  const missing = stated.required ? [...required].filter((name) => !given.keys.has(name)) : []
  return [
    ...strange.map((name) => `the key ${name} of the body is in no document`),
    ...missing.map((name) => `the key ${name} of the body is required, and the tool does not require it`),
  ]
}
