import { isIP } from 'node:net'
import { hostName } from './host-name.ts'

/** A list of hosts: `api.example.com` is that host, `*.example.com` every host below that one. */
export class DomainList {
  readonly #hosts = new Set<string>()
  readonly #parents: string[] = []

  /** Throws a sentence about the first entry that is no host; `where` is what the list is called in it. */
  constructor(entries: readonly string[], where: string) {
    for (const entry of entries) {
      const isParent = entry.startsWith('*.')
      const host = hostName(isParent ? entry.slice(2) : entry)
      if (host === undefined || (isParent && isIP(host) !== 0)) {
        throw new Error(
          `${where} has ${JSON.stringify(entry)}, which is not a host name: write it like "api.example.com", or "*.example.com" for all its sub-domains, without scheme, port or path`,
        )
      }
      if (isParent) this.#parents.push(`.${host}`)
      else this.#hosts.add(host)
    }
  }

  /** Takes a host as `hostName` gives it. */
  has(host: string): boolean {
    return this.#hosts.has(host) || this.#parents.some((parent) => host.endsWith(parent))
  }
}
