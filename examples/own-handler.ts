// A handler that is told when to stop, and says how far it is. Run it: npx node -C toolyard-source examples/own-handler.ts
import { setTimeout as sleep } from 'node:timers/promises'
import { type Handler, silentLog, ToolHandlers, ToolManager } from 'toolyard'

/** Copies pages one by one. `signal` aborts at the deadline, and when the caller has gone: the copying then ends. */
const copyPages: Handler = async ({ pages }, { signal, report }) => {
  for (let page = 1; page <= Number(pages); page++) {
    await sleep(100, undefined, { signal })
    report({ copied: page, of: pages })
  }
  return { copied: pages }
}

const handlers = new ToolHandlers()
handlers.register('copy_pages', copyPages)
const registry = [
  {
    name: 'copy_pages',
    description: 'Copies the first pages of the book.',
    parameters: { type: 'object', properties: { pages: { type: 'integer', minimum: 1 } }, required: ['pages'] },
    implementation: { type: 'internal', handler: 'copy_pages' },
    timeout_ms: 1000,
    // What it has copied stays copied, so copying again does no harm; without this line it would count as a write.
    effect: 'idempotent',
  },
]
const manager = new ToolManager({ tools: { enabled: true, registry } }, { handlers, log: silentLog })
await manager.loadTools()
const executor = manager.getExecutor()

console.log('progress:')
const report = (progress: unknown) => console.log(' ', progress)
console.log(await executor.execute('copy_pages', { pages: 3 }, { report }))

console.log('deadline:')
console.log(await executor.execute('copy_pages', { pages: 50 }))

console.log('cancellation:')
const caller = new AbortController()
const call = executor.execute('copy_pages', { pages: 5 }, { signal: caller.signal })
setTimeout(() => caller.abort(), 150)
console.log(await call)

await manager.close()
