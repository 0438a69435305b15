import type { RouteOptions } from 'fastify'
import type { Scope } from '../config/callers/scopes.ts'

export interface KnownRoute {
  readonly method: string
  /** In the router's form: `/api/jobs/:id`, `/docs/*`. */
  readonly url: string
  /** The scope that a caller needs; null: none. */
  readonly scope: Scope | null | undefined
}

/** Every route of a server: so that a wrong method is told from a wrong path, and tests can see that none is left out. */
export class KnownRoutes {
  readonly #routes: {
    readonly methods: readonly string[]
    readonly url: string
    readonly pattern: RegExp
    readonly options: RouteOptions
  }[] = []

  add(options: RouteOptions): void {
    const { method, url } = options
    this.#routes.push({ methods: [method].flat(), url, pattern: patternOf(url), options })
  }

  all(): KnownRoute[] {
    return this.#routes.flatMap(({ methods, url, options: { config } }) =>
      methods.map((method) => ({ method, url, scope: config?.scope })),
    )
  }

  /** The methods for a path as it was asked for; empty where the path is unknown. */
  methodsOf(path: string): string[] {
    const found = this.#routes.filter(({ pattern }) => pattern.test(path))
    return [...new Set(found.flatMap(({ methods }) => methods))].sort()
  }
}

function patternOf(url: string): RegExp {
  const parts = url.split(/(:\w+|\*)/).map((part) => {
    if (part === '*') return '.*'
    return part.startsWith(':') ? '[^/]+' : RegExp.escape(part)
  })
  return new RegExp(`^${parts.join('')}$`)
}
