import type { RunStep } from '../../../src/core/storage/run-store.ts'

/** A call, as far as two runs are compared by it. */
export interface ComparedCall {
  readonly tool: string
  readonly params: unknown
}

/** The calls of a run that is kept; those that were made before the model was asked are none of its own. */
export const callsOf = (steps: readonly RunStep[]): ComparedCall[] =>
  steps
    .filter(({ type, iteration }) => type === 'tool' && iteration > 0)
    .map(({ tool = '', params }) => ({ tool, params }))

/** Where the calls of two runs first differ, as a sentence; undefined where they are the same. */
export function differenceOf(before: readonly ComparedCall[], now: readonly ComparedCall[]): string | undefined {
  for (let index = 0; index < Math.max(before.length, now.length); index++) {
    const [was, is] = [before[index], now[index]]
    if (was === undefined) return `Call ${index + 1}, ${said(is)}, was not made then.`
    if (is === undefined) return `Call ${index + 1} was ${said(was)}, and is not made now.`
    if (was.tool !== is.tool || !alike(was.params, is.params)) {
      return `Call ${index + 1} was ${said(was)}, and is ${said(is)} now.`
    }
  }
  return undefined
}

const said = (call: ComparedCall | undefined): string =>
  call === undefined ? 'nothing' : `${call.tool} with ${JSON.stringify(call.params)}`

/** What was taken out of a stored run, as a secret or because it was long, may have been anything. */
function alike(was: unknown, is: unknown): boolean {
  if (typeof was === 'string' && was.includes('[redacted]')) return true
  if (typeof was === 'string' && typeof is === 'object') return true
  if (typeof was !== 'object' || was === null || typeof is !== 'object' || is === null) return was === is
  const keys = new Set([...Object.keys(was), ...Object.keys(is)])
  return [...keys].every((key) => alike((was as Params)[key], (is as Params)[key]))
}

type Params = Readonly<Record<string, unknown>>
