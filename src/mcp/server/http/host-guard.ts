import type { IncomingHttpHeaders } from 'node:http'
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server'

const MOST_KNOWN = 64

/**
 * Keeps web pages out: a page whose name was made to point at this machine sends its own name as `Host`, and any page
 * sends its `Origin`.
 */
export class HostGuard {
  readonly #hosts: string[]
  readonly #known = new Set<string>()

  constructor(hosts: readonly string[] = []) {
    this.#hosts = [...localhostAllowedHostnames(), ...hosts]
  }

  /** What is wrong with where a request comes from; undefined where nothing is. */
  fault({ host = '', origin }: IncomingHttpHeaders): string | undefined {
    if (origin === undefined && this.#known.has(host)) return undefined
    const checks = [validateHostHeader(host, this.#hosts), validateOriginHeader(origin, this.#hosts)]
    for (const check of checks) if (!check.ok) return check.message
    if (this.#known.size < MOST_KNOWN) this.#known.add(host)
    return undefined
  }
}
