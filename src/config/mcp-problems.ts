import { suggest } from '../core/suggest.ts'
import type { Config } from './config.ts'
import { isWebAddress } from './is-web-address.ts'
import { type McpEntry, mcpEntries } from './mcp-entries.ts'

/** A name of a tool has 64 characters with most providers, and the tool's own name should fit in beside this one. */
const LONGEST_NAME = 64
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** What is wrong with the MCP servers of a configuration, beyond what its schema says. */
export function mcpProblems(config: Config): string[] {
  const entries = mcpEntries(config)
  return entries.flatMap((entry, index) => [
    ...nameProblem(entry, entries.slice(0, index)),
    ...reachProblem(entry),
    ...headerProblems(entry),
  ])
}

function nameProblem({ name, place }: McpEntry, before: readonly McpEntry[]): string[] {
  if (name === '' || name.length > LONGEST_NAME) {
    return [`${place} cannot be called so: give it a name of 1 to ${LONGEST_NAME} letters, digits, _, . and -.`]
  }
  const first = before.find((one) => one.name === name)
  return first === undefined ? [] : [`${place} is called '${name}', as ${first.place} is: rename one of them.`]
}

function reachProblem({ place, server }: McpEntry): string[] {
  const { type, command, url } = server
  if (command !== undefined && url !== undefined) {
    return [`${place} has both command and url: remove the one that it is not reached by.`]
  }
  if (command === undefined && url === undefined) {
    const needed = type === undefined ? ['command', 'url'] : [type === 'stdio' ? 'command' : 'url']
    const near = Object.keys(server).find((key) => suggest(key, needed).length > 0)
    const fix = near === undefined ? 'add it.' : `did you mean it by '${near}'?`
    return [`${place} lacks ${needed.join(' or ')}: ${fix}`]
  }
  if (type !== undefined && (type === 'stdio') !== (command !== undefined)) {
    const has = command === undefined ? 'url' : 'command'
    return [`${place}.type is '${type}', which does not go with ${has}: remove type, and it is found out.`]
  }
  if (url !== undefined && !url.includes('${') && !isWebAddress(url)) {
    return [`${place}.url must be an http or https address, such as http://127.0.0.1:3000/mcp.`]
  }
  return []
}

const headerProblems = ({ place, server: { headers = {} } }: McpEntry): string[] =>
  Object.keys(headers)
    .filter((name) => !HEADER_NAME.test(name))
    .map((name) => `${place}.headers: ${JSON.stringify(name)} cannot be the name of a header.`)
