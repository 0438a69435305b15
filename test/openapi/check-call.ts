import type { ToolDefinition } from '../../src/core/tool.ts'
import type { HttpImplementation } from '../../src/kinds/http/definition/http-implementation.ts'
import { bodyShape } from './body-shape.ts'
import type { CallSession } from './call-session.ts'
import { checkRequest } from './check-request.ts'
import type { DocumentTree } from './document-tree.ts'
import { makeParams } from './make-params.ts'
import { matchedParameters } from './matched-parameters.ts'
import { readStatedRequest } from './read-stated-request.ts'
import type { StatedOperation } from './stated-operations.ts'
import type { StatedRequest } from './stated-request.ts'

/** What became of one call. */
export interface CheckedCall {
  /** Whether it was made. */
  readonly made: boolean
  readonly problems: readonly string[]
}

/**
 * Calls a tool and holds the request that arrives against the operation that the tool was made of. `notes` are what the
 * import said of it.
 */
export async function checkCall(
  tool: ToolDefinition,
  operation: StatedOperation,
  notes: readonly string[],
  tree: DocumentTree,
  session: CallSession,
): Promise<CheckedCall> {
  const { body_param: bodyParam } = tool.implementation as HttpImplementation
  const stated = readStatedRequest(operation, tree)
  const bodyNames = new Set(
    [...(stated.body?.content.values() ?? [])].flatMap((one) => [...bodyShape(one, tree).names]),
  )
  const matched = matchedParameters(tool, operation.path, stated.parameters, bodyParam ? new Set() : bodyNames, notes)
  const problems = [...matched.problems]
  if (stated.body === undefined) {
    problems.push(...[...matched.inBody.keys()].map((name) => `the parameter ${name} is in no document`))
  } else if (matched.inBody.size === 0 && !notes.some((note) => note.includes('its body'))) {
    problems.push('its body is neither in the tool nor in the notes')
  }
  if (problems.length > 0) return { made: false, problems }

  session.use(tool)
  const placeOf = (name: string): string => matched.outside.get(name)?.in ?? 'body'
  const params = await makeParams(tool.parameters, placeOf, (given) => session.problems(given))
  if (params === undefined) return { made: false, problems: [] }
  session.server.prepare(stated.status, stated.answers)
  const failure = await session.call(params)
  if (failure !== undefined) return { made: true, problems: [`${failure} with ${JSON.stringify(params)}`] }
  const [received, ...more] = session.server.received
  if (received === undefined || more.length > 0) return { made: true, problems: [`${more.length} requests too many`] }
  return { made: true, problems: checkRequest(received, { operation, stated, matched, params, bodyParam }, tree) }
}

/** What is wrong with the address of a tool that was imported as the document has it. */
export function checkServer(tool: ToolDefinition, { servers }: StatedRequest): string[] {
  const { url } = tool.implementation as HttpImplementation
  const addresses = servers.flatMap((server) => {
    const address = URL.parse(server.startsWith('//') ? `https:${server}` : server)
    return address === null ? [] : [`${address.origin}${address.pathname.replace(/\/+$/, '')}/`]
  })
  return addresses.some((address) => url.startsWith(address))
    ? []
    : [`the address ${url} is none of ${servers.join(', ')}`]
}
