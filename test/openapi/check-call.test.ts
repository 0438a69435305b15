import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../src/core/tool.ts'
import { importOpenapi } from '../../src/openapi/import-openapi.ts'
import { CallSession } from './call-session.ts'
import { checkCall } from './check-call.ts'
import { DocumentTree } from './document-tree.ts'
import { statedOperations } from './stated-operations.ts'

const text = { type: 'string' }
const list = { type: 'array', items: text }
const query = (name: string, more: object = {}) => ({ name, in: 'query', required: true, schema: text, ...more })

const parameters = [
  { name: 'id', in: 'path', required: true, schema: text },
  query('words', { schema: list, explode: false }),
  query('tags', { schema: list, style: 'pipeDelimited' }),
  query('filter', { style: 'deepObject', schema: { type: 'object', properties: { a: text }, required: ['a'] } }),
  query('first'),
  query('second', { required: false }),
  { name: 'X-Trace', in: 'header', required: true, schema: text },
  { name: 'session', in: 'cookie', required: true, schema: text },
]
const schema = {
  type: 'object',
  properties: { id: { type: 'integer' }, title: text, words: list },
  required: ['id', 'title', 'words'],
}
const content = (type: string) => ({ required: true, content: { [type]: { schema } } })
const document = {
  openapi: '3.0.3',
  info: { title: 'Shelf', version: '1' },
  servers: [{ url: 'https://shelf.example/v1' }],
  security: [{ key: [] }],
  paths: {
    '/books/{id}': {
      put: { operationId: 'put', parameters, requestBody: content('application/json'), responses: {} },
      post: {
        operationId: 'post',
        parameters,
        requestBody: content('application/x-www-form-urlencoded'),
        responses: {},
      },
    },
  },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
}

let session: CallSession
beforeAll(async () => {
  session = await CallSession.start()
})
afterAll(() => session.close())

async function problemsOf(label: string, change: (tool: Changeable) => unknown = () => {}): Promise<readonly string[]> {
  const tree = new DocumentTree(document)
  const operation = statedOperations(tree).find((one) => one.label === label)
  const { definitions, notes } = importOpenapi(document, { include: [label], baseUrl: session.server.url })
  const tool = structuredClone(definitions[0]) as unknown as Changeable
  change(tool)
  if (operation === undefined) throw new Error(`${label} is not in the document`)
  const said = notes.map(({ note }) => note)
  const { problems } = await checkCall(tool as unknown as ToolDefinition, operation, said, tree, session)
  return problems
}

interface Changeable {
  parameters: { properties: Record<string, unknown>; required: string[] }
  implementation: Record<string, unknown> & { url: string } & Record<
      'params_in' | 'params_mapping' | 'auth',
      Record<string, unknown>
    >
}

const PUT = 'PUT /books/{id}'
const POST = 'POST /books/{id}'

describe('a call that is held against its document', () => {
  test.each([PUT, POST])('is right where the tool is: %s', async (label) => {
    expect(await problemsOf(label)).toEqual([])
  })

  const wrong: readonly (readonly [string, (tool: Changeable) => unknown, RegExp])[] = [
    ['the method is another', (tool) => set(tool, { method: 'PATCH' }), /^the method is PATCH$/],
    ['the path is another', (tool) => set(tool, { url: `${tool.implementation.url}/x` }), /^the path is /],
    [
      'a parameter goes elsewhere',
      (tool) => place(tool, { first: 'header' }),
      /^INVALID_PARAMETERS: .* first must be ASCII/,
    ],
    [
      'two parameters are exchanged',
      (tool) => map(tool, { first: 'second', second: 'first' }),
      /^the query parameter first is \[\]/,
    ],
    ['a list is written apart', (tool) => place(tool, { tags: 'query' }), /^the query parameter tags is /],
    [
      'a list has another delimiter',
      (tool) => place(tool, { tags: { in: 'query', explode: false } }),
      /^the query parameter tags is /,
    ],
    ['an object is written as JSON', (tool) => place(tool, { filter: 'query' }), /^the query parameter filter=/],
    [
      'something else is in the query',
      (tool) => set(tool, { query: { more: '1' } }),
      /^the query parameter more=1 is in no/,
    ],
    ['another header is sent', (tool) => set(tool, { headers: { 'x-more': '1' } }), /^the header x-more: 1 is in no/],
    ['a cookie is in the query', (tool) => place(tool, { session: 'query' }), /^the cookie session is \[\]/],
    ['nobody shows who asks', (tool) => set(tool, { auth: undefined }), /^the header x-key is '', which is no key/],
    ['the key has another name', (tool) => show(tool, { name: 'X-Other' }), /^the header x-other: value-of/],
    ['the key is in the query', (tool) => show(tool, { in: 'query' }), /^the query parameter X-Key=value-of/],
    ['JSON is a form', (tool) => set(tool, { body: 'form' }), /^the body came as 'application\/x-www-form-/],
    [
      'a key of the body has another name',
      (tool) => map(tool, { title: 'titel' }),
      /^the key titel of the body is in no/,
    ],
    ['a parameter is lost', (tool) => drop(tool, 'X-Trace'), /^the header parameter X-Trace is neither/],
    ['a parameter need not be given', (tool) => loosen(tool, 'first'), /^the query parameter first is required/],
    ['a key of the body is lost', (tool) => drop(tool, 'title'), /^the key title of the body is required/],
  ]
  test.each(wrong)('is wrong where %s', async (_what, change, sentence) => {
    expect(await problemsOf(PUT, change)).toContainEqual(expect.stringMatching(sentence))
  })

  test('is wrong where a form is JSON', async () => {
    const sentence = expect.stringMatching(/^the body came as 'application\/json'/)
    expect(await problemsOf(POST, (tool) => set(tool, { body: 'json' }))).toContainEqual(sentence)
  })
})

const set = ({ implementation }: Changeable, keys: object) => Object.assign(implementation, keys)
const place = ({ implementation }: Changeable, keys: object) => Object.assign(implementation.params_in, keys)
const map = ({ implementation }: Changeable, keys: object) => Object.assign(implementation.params_mapping, keys)
const show = ({ implementation }: Changeable, keys: object) => Object.assign(implementation.auth, keys)

function drop({ parameters: { properties, required } }: Changeable, name: string): void {
  delete properties[name]
  required.splice(required.indexOf(name), 1)
}

/** Nothing that is sent outside a body can be null. */
function loosen({ parameters: { properties, required } }: Changeable, name: string): void {
  properties[name] = { type: 'null' }
  required.splice(required.indexOf(name), 1)
}
