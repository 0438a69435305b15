import { at, branchAt, type DocumentTree, isBranch, listAt, type Tree, textAt } from './document-tree.ts'
import type { StatedOperation } from './stated-operations.ts'
import { goodStatus, mergedParameters, successes } from './stated-parts.ts'
import type { StatedBody, StatedCredential, StatedParameter, StatedRequest } from './stated-request.ts'

/** The style of a place where none is written, and those that it can have. */
const STYLES: Readonly<Record<StatedParameter['in'], readonly string[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

/** What OpenAPI 3 says of a request. */
export function statedByOpenapi(stated: StatedOperation, tree: DocumentTree): StatedRequest {
  const { operation, pathItem } = stated
  const asked = at(operation, 'security') ?? at(tree.root, 'security')
  const schemes = branchAt(branchAt(tree.root, 'components'), 'securitySchemes')
  const answers = successes(operation).map((response) => tree.resolve(response))
  return {
    parameters: mergedParameters(stated, tree).flatMap((one) => parameter(one)),
    body: body(tree.resolve(at(operation, 'requestBody')), tree),
    security: (Array.isArray(asked) ? asked : []).map((alternative) =>
      Object.keys(isBranch(alternative) ? alternative : {}).map((name) => credential(tree.resolve(at(schemes, name)))),
    ),
    servers: serversOf([operation, pathItem, tree.root]),
    answers: answers.flatMap((response) => Object.keys(branchAt(response, 'content'))),
    status: goodStatus(operation),
  }
}

function parameter(written: Tree): StatedParameter[] {
  const place = textAt(written, 'in')
  const name = textAt(written, 'name')
  if (name === undefined || (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie'))
    return []
  const usual = STYLES[place][0] as string
  const asked = textAt(written, 'style') ?? usual
  const style = STYLES[place].includes(asked) ? asked : usual
  const explode = at(written, 'explode')
  return [
    {
      name,
      in: place,
      required: place === 'path' || at(written, 'required') === true,
      style,
      explode: typeof explode === 'boolean' ? explode : style === 'form',
    },
  ]
}

function body(written: Tree, tree: DocumentTree): StatedBody | undefined {
  const content = Object.entries(branchAt(written, 'content')).map(
    ([type, entry]) => [type, tree.resolve(entry)] as const,
  )
  if (content.length === 0) return undefined
  const form = content.find(([type]) => /^application\/x-www-form-urlencoded/i.test(type))
  const encoding = Object.entries(branchAt(form?.[1], 'encoding')).map(([name, one]) => {
    const [style, explode] = [textAt(one, 'style'), at(one, 'explode')]
    return [name, { ...(style && { style }), ...(typeof explode === 'boolean' && { explode }) }] as const
  })
  return {
    required: at(written, 'required') === true,
    content: new Map(content.map(([type, entry]) => [type, at(entry, 'schema')])),
    encoding: new Map(encoding),
  }
}

function credential(scheme: Tree): StatedCredential {
  switch (textAt(scheme, 'type')) {
    case 'apiKey':
      return { kind: 'key', in: textAt(scheme, 'in') ?? '', name: textAt(scheme, 'name') ?? '' }
    case 'http': {
      const kind = textAt(scheme, 'scheme')?.toLowerCase()
      return kind === 'bearer' || kind === 'basic' ? { kind } : { kind: 'impossible' }
    }
    case 'openIdConnect':
      return { kind: 'bearer' }
    case 'oauth2': {
      const flow = at(branchAt(scheme, 'flows'), 'clientCredentials')
      return flow === undefined ? { kind: 'bearer' } : { kind: 'client', tokenUrl: textAt(flow, 'tokenUrl') ?? '' }
    }
    default:
      return { kind: 'impossible' }
  }
}

/** The servers of the first that names any, variables replaced by their defaults. */
export function serversOf(holders: readonly Tree[]): string[] {
  const written = holders.map((holder) => listAt(holder, 'servers')).find((list) => list.length > 0) ?? []
  return written.flatMap((server) => {
    const url = textAt(server, 'url')
    if (url === undefined) return []
    const defaults = Object.entries(branchAt(server, 'variables')).map(
      ([name, variable]) => [name, at(variable, 'default')] as const,
    )
    return [defaults.reduce((text, [name, value]) => text.replaceAll(`{${name}}`, String(value)), url)]
  })
}
