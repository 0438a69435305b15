// Runs one handler for one call, in a process that can be ended: run-handler.ts MODULE EXPORT PARAMS
import type { Handler } from '../../adapter.ts'

const [module = '', name = '', params = '{}'] = process.argv.slice(2)
const handlers = (await import(module)) as Record<string, Handler>
const result = await handlers[name]?.(JSON.parse(params), undefined)
process.send?.({ result })
