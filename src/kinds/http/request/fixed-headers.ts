import type { HttpImplementation } from '../http-implementation.ts'
import { isHeaderValue } from './control-characters.ts'
import { isHeaderName, isOfTheConnection } from './header-names.ts'
import { unfitImplementation } from './unfit-implementation.ts'

/** The headers of every request of a tool, names in lower case. Their values are never quoted: they may be secrets. */
export function fixedHeaders({ headers = {}, auth }: HttpImplementation): Record<string, string> {
  const fixed: Record<string, string> = { accept: 'application/json, */*;q=0.5', 'user-agent': 'toolyard' }
  const given = new Set<string>()
  for (const [written, value] of Object.entries(headers)) {
    const name = checkedName(written, 'implementation.headers')
    if (given.has(name)) throw unfitImplementation(`implementation.headers has '${name}' twice: remove one of them`)
    if (!isHeaderValue(value)) {
      throw unfitImplementation(
        `implementation.headers.${written} holds a character that no header may have: write plain ASCII text`,
      )
    }
    given.add(name)
    fixed[name] = value.trim()
  }
  if (auth?.type === 'api_key' && auth.in === 'header') checkedName(auth.name, 'implementation.auth.name')
  return fixed
}

function checkedName(written: string, key: string): string {
  const name = written.toLowerCase()
  if (!isHeaderName(name)) {
    throw unfitImplementation(
      `${key} has ${JSON.stringify(written)}, which is no name for a header: use letters, digits and -`,
    )
  }
  if (isOfTheConnection(name)) {
    throw unfitImplementation(`${key} has '${written}', which belongs to the connection and is set by it: remove it`)
  }
  return name
}
