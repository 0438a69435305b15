import type { CallContext, Handler, IsolatedHandler, Parts, ToolDefinition } from '../../src/index.ts'
import type { Contender } from '../contender.ts'
import { NAME } from '../weather.ts'

interface Variant {
  readonly id: string
  readonly name: string
  readonly tool?: Partial<ToolDefinition>
  readonly handler?: Handler | IsolatedHandler
  readonly options?: () => Promise<Parts>
  readonly context?: () => CallContext
  readonly refuses?: true
}

/** Toolyard's full path, with one thing changed. */
const variant = ({ tool, handler, options, context, ...more }: Variant): Contender => ({
  ...more,
  call: 'executor.execute(name, params)',
  deadline: 'always',
  permission: 'always',
  record: 'always',
  async prepare(params, weather) {
    const { toolyard, weatherTool } = await import('../toolyard.ts')
    const manager = await toolyard([weatherTool(tool)], { weather: handler ?? weather }, await options?.())
    const executor = manager.getExecutor()
    const given = context?.()
    return given === undefined ? () => executor.execute(NAME, params) : () => executor.execute(NAME, params, given)
  },
})

/** Consumes batches as an audit store would, without storing them. */
const countingSink = () => {
  let failures = 0
  return {
    failures: () => failures,
    write({ records }: { readonly records: readonly { readonly code?: unknown }[] }): void {
      for (const { code } of records) if (code !== undefined) failures++
    },
  }
}

/** The log of `toolyard serve`; the parent process reads it. */
const infoLog = async () => (await import('../../src/app/tools/create-log.ts')).createLog('info', { buffered: true })

export const toolyardContenders: readonly Contender[] = [
  variant({ id: 'toolyard', name: 'Toolyard' }),
  variant({
    id: 'toolyard-audit',
    name: 'Toolyard, audit sink attached',
    options: async () => ({ sinks: [countingSink()] }),
  }),
  variant({ id: 'toolyard-log', name: 'Toolyard, log at info', options: async () => ({ log: await infoLog() }) }),
  variant({
    id: 'toolyard-cached',
    name: 'Toolyard, read tool, cache hit',
    tool: { effect: 'read', cache: { ttl_ms: 3_600_000 } },
  }),
  variant({
    id: 'toolyard-signal',
    name: "Toolyard, caller's AbortSignal",
    context: () => ({ signal: new AbortController().signal }),
  }),
  variant({ id: 'toolyard-refused', name: 'Toolyard, refused call', refuses: true }),
  variant({
    id: 'toolyard-isolated',
    name: 'Toolyard, isolated handler',
    handler: { module: new URL('../handlers/isolated.ts', import.meta.url).href, export: 'weather' },
  }),
]
