// CPU-bound code in a process of its own. Run it: npx node -C toolyard-source examples/isolated-handler/main.ts
import { isolated, silentLog, ToolHandlers, ToolManager } from 'toolyard'

const code = new URL('./prime-factors.ts', import.meta.url)
const handlers = new ToolHandlers()
handlers.register('prime_factors', isolated(code, 'primeFactors'), { effect: 'read' })
handlers.register('spin', isolated(code, 'spin'), { effect: 'read' })

const number = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }
const registry = [
  {
    name: 'prime_factors',
    description: 'Finds the prime factors of a whole number.',
    parameters: { type: 'object', properties: { number }, required: ['number'] },
    implementation: { type: 'internal', handler: 'prime_factors' },
  },
  {
    name: 'spin',
    description: 'Loops for ever.',
    parameters: { type: 'object' },
    implementation: { type: 'internal', handler: 'spin' },
    timeout_ms: 1500,
  },
]
const manager = new ToolManager({ tools: { enabled: true, registry } }, { handlers, log: silentLog })
await manager.loadTools()
const executor = manager.getExecutor()

console.log(await executor.execute('prime_factors', { number: 600_851_475_143 }))

// While one process loops, ours goes on: the timer below keeps ticking.
let ticks = 0
const ticking = setInterval(() => ticks++, 10)
console.log(await executor.execute('spin', {}))
clearInterval(ticking)
console.log(`meanwhile the timer went on: ${ticks > 20}`)

await manager.close()
