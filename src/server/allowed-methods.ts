/** Which methods the server knows at which path, so that a wrong one is told from a wrong path. */
export class AllowedMethods {
  readonly #routes = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>()

  /** Notes a route, its path in the router's form: `/api/jobs/:id`, `/docs/*`. */
  add(url: string, method: string | readonly string[]): void {
    let route = this.#routes.get(url)
    if (route === undefined) {
      route = { pattern: patternOf(url), methods: new Set() }
      this.#routes.set(url, route)
    }
    for (const one of [method].flat()) route.methods.add(one)
  }

  /** The methods for a path as it was asked for; empty where the path is unknown. */
  of(path: string): string[] {
    const found = new Set<string>()
    for (const { pattern, methods } of this.#routes.values()) {
      if (pattern.test(path)) for (const method of methods) found.add(method)
    }
    return [...found].sort()
  }
}

function patternOf(url: string): RegExp {
  const parts = url.split(/(:\w+|\*)/).map((part) => {
    if (part === '*') return '.*'
    return part.startsWith(':') ? '[^/]+' : RegExp.escape(part)
  })
  return new RegExp(`^${parts.join('')}$`)
}
