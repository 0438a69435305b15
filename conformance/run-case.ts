// One case on one runtime, in a process of its own: run-case.ts ADAPTER CASE FOLDER
// What it comes to is sent to the process that started this one. A crash or a hang is seen from there.
import { pathToFileURL } from 'node:url'
import type { Adapter } from './adapter.ts'
import type { Case, Verdict } from './case.ts'
import { cases } from './cases/index.ts'
import { Failure } from './failure.ts'
import { Probe } from './probe.ts'

/** What the process tells the one that started it. `beat` says that its event loop turns. */
export type CaseMessage =
  | { readonly type: 'adapter'; readonly name: string; readonly packages: readonly string[] }
  | { readonly type: 'beat' }
  | ({ readonly type: 'verdict' } & Verdict)

const BEAT_MS = 250
const CLOSE_MS = 2000

const tell = (message: CaseMessage) => process.send?.(message)

async function load(file: string): Promise<Adapter | Verdict> {
  try {
    return ((await import(pathToFileURL(file).href)) as { adapter: Adapter }).adapter
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    if (missing) return { status: 'none', reason: error.message.split(' imported from ')[0] ?? '' }
    throw error
  }
}

async function judge(chosen: Case, adapter: Adapter, probe: Probe): Promise<Verdict> {
  const lacks = chosen.needs.filter((need) => !adapter.can.includes(need))
  if (lacks.length > 0) return { status: 'none', reason: `It has no ${lacks.join(', ')}` }
  const waits = adapter.pending?.[chosen.id]
  if (waits !== undefined) return { status: 'none', reason: waits }
  try {
    await chosen.run(probe)
    return { status: 'pass', reason: '' }
  } catch (error) {
    if (error instanceof Failure) return { status: 'fail', reason: error.message }
    return { status: 'fail', reason: `The runtime could not be started or used: ${error}` }
  }
}

// Whoever started this is gone.
process.on('disconnect', () => process.exit(1))

const [file = '', id, folder = '.'] = process.argv.slice(2)
const chosen = cases.find((each) => each.id === id)
if (chosen === undefined) throw new Error(`There is no case '${id}'`)
const adapter = await load(file)
if ('status' in adapter) {
  tell({ type: 'verdict', ...adapter })
} else {
  tell({ type: 'adapter', name: adapter.name, packages: adapter.packages })
  setInterval(() => tell({ type: 'beat' }), BEAT_MS)
  const probe = new Probe(adapter, folder)
  tell({ type: 'verdict', ...(await judge(chosen, adapter, probe)) })
  await Promise.race([probe.close(), new Promise((resolve) => setTimeout(resolve, CLOSE_MS))])
}
process.exit(0)
