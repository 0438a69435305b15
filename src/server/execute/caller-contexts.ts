import type { Caller } from '../../config/callers/caller.ts'
import type { Config } from '../../config/config.ts'
import type { Installation } from '../../config/installation.ts'
import type { CallContext } from '../../core/call-context.ts'

interface Known {
  readonly context: CallContext
  readonly config: Config
}

/** What each caller's calls are made with, worked out once for as long as nothing about it changes. */
export class CallerContexts {
  readonly #installation: Installation
  readonly #known = new WeakMap<Caller, Known>()

  constructor(installation: Installation) {
    this.#installation = installation
  }

  of(caller: Caller, session: string | undefined): CallContext {
    const { callers, tenants, config } = this.#installation
    if (session !== undefined) return callers.context(caller, 'rest', session)
    const known = this.#known.get(caller)
    if (known !== undefined && known.config === config && known.context.flags === tenants.flags(caller.tenant)) {
      return known.context
    }
    const context = callers.context(caller, 'rest')
    this.#known.set(caller, { context, config })
    return context
  }
}
