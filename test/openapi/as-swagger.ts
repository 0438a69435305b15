import { at, type Branch, branchAt, DocumentTree, isBranch, listAt, type Tree, textAt } from './document-tree.ts'
import { serversOf } from './stated-by-openapi.ts'
import { type StatedOperation, statedOperations } from './stated-operations.ts'
import { mergedParameters } from './stated-parts.ts'

const FORM = 'application/x-www-form-urlencoded'
const PLAIN = ['string', 'number', 'integer', 'boolean']
const FLOWS = [
  ['clientCredentials', 'application'],
  ['authorizationCode', 'accessCode'],
  ['implicit', 'implicit'],
  ['password', 'password'],
] as const

/**
 * A document of OpenAPI 3 in Swagger 2, with those of its operations that can be said in it: most that are published were
 * Swagger 2 once, and of the others there is no collection.
 */
export function asSwagger(document: Tree): Branch {
  const tree = new DocumentTree(document)
  const paths: Record<string, Record<string, Tree>> = {}
  for (const stated of statedOperations(tree)) {
    const operation = operationOf(stated, tree)
    if (operation === undefined) continue
    const item = paths[stated.path] ?? {}
    paths[stated.path] = Object.assign(item, { [stated.method.toLowerCase()]: operation })
  }
  const { info, security, components, tags } = tree.root
  const schemes = Object.entries(branchAt(components, 'securitySchemes'))
  return renamed({
    swagger: '2.0',
    info,
    ...serverOf(serversOf([tree.root])[0]),
    ...(security !== undefined && { security }),
    ...(tags !== undefined && { tags }),
    securityDefinitions: Object.fromEntries(schemes.map(([name, scheme]) => [name, schemeOf(tree.resolve(scheme))])),
    definitions: branchAt(components, 'schemas'),
    paths,
  }) as Branch
}

function operationOf(stated: StatedOperation, tree: DocumentTree): Branch | undefined {
  const { operationId, summary, description, deprecated, tags, security, responses } = stated.operation as Branch
  const outside = mergedParameters(stated, tree).map((one) => parameterOf(one, tree))
  const body = bodyOf(tree.resolve(at(stated.operation, 'requestBody')), tree)
  const parameters = [...outside, ...(body?.parameters ?? [])]
  if (body === undefined || parameters.includes(undefined)) return undefined
  const produces = Object.values(isBranch(responses) ? responses : {}).flatMap((response) =>
    Object.keys(branchAt(tree.resolve(response), 'content')),
  )
  const said = { operationId, summary, description, deprecated, tags, security }
  return {
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
    parameters,
    ...(body.consumes && { consumes: [body.consumes] }),
    ...(produces.length > 0 && { produces: [...new Set(produces)] }),
    responses: { 200: { description: 'OK', ...(produces.length > 0 && { schema: {} }) } },
  }
}

/** A parameter that is plain or a list of what is plain; undefined where it is more. */
function parameterOf(written: Tree, tree: DocumentTree): Branch | undefined {
  const { name, in: place, required, description, style, explode } = written as Branch
  const schema = tree.resolve(at(written, 'schema'))
  if (place === 'cookie' || (style !== undefined && style !== 'form' && style !== 'simple')) return undefined
  const plain = plainOf(schema, tree)
  if (plain === undefined) return undefined
  const format = place === 'query' ? (explode === false ? 'csv' : 'multi') : 'csv'
  return {
    name,
    in: place,
    ...((place === 'path' || required === true) && { required: true }),
    ...(description !== undefined && { description }),
    ...plain,
    ...(plain.type === 'array' && { collectionFormat: format }),
  }
}

function plainOf(schema: Tree, tree: DocumentTree): Branch | undefined {
  const type = textAt(schema, 'type') ?? ''
  const { title: _, description: __, readOnly: ___, ...rules } = isBranch(schema) ? schema : {}
  if (['allOf', 'anyOf', 'oneOf', 'not', 'properties'].some((keyword) => Object.hasOwn(rules, keyword)))
    return undefined
  if (PLAIN.includes(type)) return rules
  if (type !== 'array') return undefined
  const items = plainOf(tree.resolve(rules.items), tree)
  return items === undefined || items.type === 'array' ? undefined : { ...rules, items }
}

function bodyOf(
  body: Tree,
  tree: DocumentTree,
): { readonly parameters: (Branch | undefined)[]; readonly consumes?: string } | undefined {
  const content = branchAt(body, 'content')
  const required = at(body, 'required') === true
  if (Object.keys(content).length === 0) return { parameters: [] }
  const json = Object.keys(content).find((type) => /json/.test(type))
  if (json !== undefined) {
    const schema = at(tree.resolve(content[json]), 'schema') ?? {}
    return { parameters: [{ name: 'body', in: 'body', ...(required && { required }), schema }], consumes: json }
  }
  const form = tree.resolve(at(tree.resolve(content[FORM]), 'schema'))
  const fields = Object.entries(branchAt(form, 'properties'))
  if (content[FORM] === undefined || fields.length === 0 || at(form, 'allOf') !== undefined) return undefined
  const wanted = required ? listAt(form, 'required') : []
  const parameters = fields.map(([name, schema]) => {
    const plain = plainOf(tree.resolve(schema), tree)
    if (plain === undefined) return undefined
    const format = plain.type === 'array' ? { collectionFormat: 'multi' } : {}
    return { name, in: 'formData', ...(wanted.includes(name) && { required: true }), ...plain, ...format }
  })
  return { parameters, consumes: FORM }
}

function schemeOf(scheme: Tree): Tree {
  const type = textAt(scheme, 'type')
  if (type === 'http' && textAt(scheme, 'scheme')?.toLowerCase() === 'basic') return { type: 'basic' }
  if (type === 'http') return { type: 'apiKey', in: 'header', name: 'Authorization' }
  if (type !== 'oauth2') return scheme
  const flows = branchAt(scheme, 'flows')
  const [three, two] = FLOWS.find(([name]) => flows[name] !== undefined) ?? FLOWS[2]
  return { ...branchAt(flows, three), type, flow: two }
}

function serverOf(address: string | undefined): Branch {
  const url = address === undefined ? null : URL.parse(address.startsWith('//') ? `https:${address}` : address)
  if (url === null || /[{}]/.test(address ?? '')) return address?.startsWith('/') ? { basePath: address } : {}
  return { host: url.host, basePath: url.pathname, schemes: [url.protocol.replace(':', '')] }
}

/** The same with references to where schemas stand in Swagger 2. */
function renamed(value: Tree): Tree {
  if (Array.isArray(value)) return value.map(renamed)
  if (!isBranch(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      if (key === 'nullable') return ['x-nullable', one]
      if (key !== '$ref' || typeof one !== 'string') return [key, renamed(one)]
      return [key, one.replace('#/components/schemas/', '#/definitions/')]
    }),
  )
}
