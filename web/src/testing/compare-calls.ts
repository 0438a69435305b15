import type { RunStep } from '../../../src/core/storage/run-store.ts'
import { ownValue } from '../parts/own-value.ts'

/** The compared part of a call. */
export interface ComparedCall {
  readonly tool: string
  readonly params: unknown
}

/** The model's calls in a stored run, without calls from before the first turn. */
export const callsOf = (steps: readonly RunStep[]): ComparedCall[] =>
  steps
    .filter(({ type, iteration }) => type === 'tool' && iteration > 0)
    .map(({ tool = '', params }) => ({ tool, params }))

/** Describes the first difference between the calls of two runs; undefined if there is none. */
export function differenceOf(before: readonly ComparedCall[], now: readonly ComparedCall[]): string | undefined {
  for (let index = 0; index < Math.max(before.length, now.length); index++) {
    const [was, is] = [before[index], now[index]]
    if (was === undefined) return `Call ${index + 1}, ${said(is)}, is new.`
    if (is === undefined) return `Call ${index + 1}, ${said(was)}, is missing.`
    if (was.tool !== is.tool || !alike(was.params, is.params)) {
      return `Call ${index + 1} was ${said(was)} and is now ${said(is)}.`
    }
  }
  return undefined
}

const said = (call: ComparedCall | undefined): string =>
  call === undefined ? 'nothing' : `${call.tool} with ${JSON.stringify(call.params)}`

/** Redacted or shortened values match anything. */
function alike(was: unknown, is: unknown): boolean {
  if (typeof was === 'string' && was.includes('[redacted]')) return true
  if (typeof was === 'string' && typeof is === 'object') return true
  if (typeof was !== 'object' || was === null || typeof is !== 'object' || is === null) return was === is
  const keys = new Set([...Object.keys(was), ...Object.keys(is)])
  return [...keys].every((key) => alike(ownValue(was as Params, key), ownValue(is as Params, key)))
}

type Params = Readonly<Record<string, unknown>>
