import { at, branchAt, type DocumentTree, isBranch, listAt, type Tree, textAt } from './document-tree.ts'
import type { StatedOperation } from './stated-operations.ts'
import { goodStatus, mergedParameters, successes } from './stated-parts.ts'
import type { StatedBody, StatedCredential, StatedParameter, StatedRequest } from './stated-request.ts'

const FORM = 'application/x-www-form-urlencoded'

/** What Swagger 2 says of a request, in the words of OpenAPI 3. */
export function statedBySwagger(stated: StatedOperation, tree: DocumentTree): StatedRequest {
  const { operation } = stated
  const parameters = mergedParameters(stated, tree)
  const types = (key: string): string[] =>
    ([operation, tree.root].map((holder) => listAt(holder, key)).find((list) => list.length > 0) ?? []).map(String)
  const asked = at(operation, 'security') ?? at(tree.root, 'security')
  const schemes = branchAt(tree.root, 'securityDefinitions')
  return {
    parameters: parameters.flatMap((one) => parameter(one)),
    body: body(parameters, types('consumes')),
    security: (Array.isArray(asked) ? asked : []).map((alternative) =>
      Object.keys(isBranch(alternative) ? alternative : {}).map((name) => credential(at(schemes, name))),
    ),
    servers: servers(operation, tree.root),
    answers: successes(operation).length > 0 ? types('produces') : [],
    status: goodStatus(operation),
  }
}

function parameter(written: Tree): StatedParameter[] {
  const place = textAt(written, 'in')
  const name = textAt(written, 'name')
  if (name === undefined || (place !== 'path' && place !== 'query' && place !== 'header')) return []
  const required = place === 'path' || at(written, 'required') === true
  if (place !== 'query') return [{ name, in: place, required, style: 'simple', explode: false }]
  return [{ name, in: place, required, ...listStyle(written) }]
}

/** How a list in a query or a form is written. */
function listStyle(written: Tree): { readonly style: string; readonly explode: boolean } {
  if (textAt(written, 'type') !== 'array') return { style: 'form', explode: true }
  switch (textAt(written, 'collectionFormat') ?? 'csv') {
    case 'multi':
      return { style: 'form', explode: true }
    case 'ssv':
      return { style: 'spaceDelimited', explode: false }
    case 'pipes':
      return { style: 'pipeDelimited', explode: false }
    default:
      return { style: 'form', explode: false }
  }
}

function body(parameters: readonly Tree[], consumes: readonly string[]): StatedBody | undefined {
  const whole = parameters.find((one) => textAt(one, 'in') === 'body')
  if (whole !== undefined) {
    const types = consumes.length > 0 ? consumes : ['application/json']
    const required = at(whole, 'required') === true
    return { required, content: new Map(types.map((type) => [type, at(whole, 'schema')])), encoding: new Map() }
  }
  const fields = parameters.filter((one) => textAt(one, 'in') === 'formData')
  if (fields.length === 0) return undefined
  const named = fields.map((field) => [textAt(field, 'name') ?? '', field] as const)
  const required = named.filter(([, field]) => at(field, 'required') === true).map(([name]) => name)
  const schema = { type: 'object', properties: Object.fromEntries(named), required }
  const types = consumes.filter((type) => /form/.test(type))
  return {
    required: required.length > 0,
    content: new Map((types.length > 0 ? types : [FORM]).map((type) => [type, schema])),
    encoding: new Map(named.map(([name, field]) => [name, listStyle(field)])),
  }
}

function credential(scheme: Tree): StatedCredential {
  switch (textAt(scheme, 'type')) {
    case 'basic':
      return { kind: 'basic' }
    case 'apiKey':
      return { kind: 'key', in: textAt(scheme, 'in') ?? '', name: textAt(scheme, 'name') ?? '' }
    case 'oauth2':
      return textAt(scheme, 'flow') === 'application'
        ? { kind: 'client', tokenUrl: textAt(scheme, 'tokenUrl') ?? '' }
        : { kind: 'bearer' }
    default:
      return { kind: 'impossible' }
  }
}

function servers(operation: Tree, root: Tree): string[] {
  const path = textAt(root, 'basePath') ?? ''
  const host = textAt(root, 'host')
  if (host === undefined) return path === '' ? [] : [path]
  const schemes = [operation, root].map((holder) => listAt(holder, 'schemes')).find((list) => list.length > 0)
  return (schemes ?? ['https']).map((scheme) => `${scheme}://${host}${path}`)
}
