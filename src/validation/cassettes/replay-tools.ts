import type { Kind } from '../../core/kind.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { ToolExecutor } from '../../core/tool-executor.ts'
import { ToolRegistry } from '../../core/tool-registry.ts'
import type { ToolFailure } from '../../core/tool-result.ts'
import type { Cassette } from './cassette.ts'
import type { Replay } from './replay.ts'

/** Anything goes: what was wrong with parameters is on the cassette, and secrets in them have another type there. */
const ANY_PARAMETERS = { type: 'object' }

/** The tools of a cassette, which answer what they answered then; those that did not exist are among them. */
export function replayTools(cassette: Cassette, replay: Replay): { registry: ToolRegistry; executor: ToolExecutor } {
  const registry = new ToolRegistry()
  const shown = new Map(cassette.request.tools.map((tool) => [tool.name, tool]))
  const names = new Set([...cassette.request.offered, ...cassette.calls.map(({ tool }) => tool)])
  for (const name of names) {
    if (name !== '') registry.register(definitionOf(name, shown.get(name)?.description ?? name))
  }
  const kind: Kind = {
    effect: () => 'write',
    bind:
      ({ name }) =>
      () =>
      (params) => {
        const result = replay.resultOf(name, params)
        if (result.success) return result.result
        throw thrown(result)
      },
  }
  return { registry, executor: new ToolExecutor(registry, { kinds: { cassette: kind } }) }
}

const definitionOf = (name: string, description: string): ToolDefinition => ({
  name,
  description,
  parameters: ANY_PARAMETERS,
  implementation: { type: 'cassette' },
})

function thrown({ error, error_code, details, suggestions, outcome }: ToolFailure): ToolExecutionError {
  const extras = {
    ...(details !== undefined && { details }),
    ...(suggestions !== undefined && { suggestions }),
    ...(outcome !== undefined && { outcome }),
  }
  // Of one that never left nothing is said about what may have come of it.
  return new ToolExecutionError(error_code, error, extras, { repeat: { neverLeft: outcome === undefined } })
}
