import { randomUUID } from 'node:crypto'
import type { IsolatedHandler, Kind } from '../handler.ts'
import { sameJson } from '../json/canonical-text.ts'
import type { Params, ToolDefinition } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'
import { viewOf, WRAPPED } from './tool-view.ts'

export const CODE = 'code'
export const DISCOVERY = 'discovery'
const NOT_IN_CODE = 'Its function is missing: tools of type "code" are made by tool() and registered in code'

/** Tools in code. */
const code: Kind = {
  effect: () => 'write',
  // A child process knows nothing of the caller.
  runsProgram: (tool) => typeof viewOf(tool).execute === 'function',
  fault: (tool) => (viewOf(tool).execute === undefined ? NOT_IN_CODE : undefined),
  identity: (tool) => ({ implementation: codeIdentity(tool, viewOf(tool).execute, ...(viewOf(tool)[WRAPPED] ?? [])) }),
  bind(tool) {
    const { execute } = viewOf(tool)
    return () => {
      if (execute === undefined) throw new ToolExecutionError('EXECUTION_ERROR', NOT_IN_CODE)
      return execute
    }
  },
}

/** What it finds depends on the tools that a run is offered. */
const discovery: Kind = { ...code, sharesResults: false }

/** A response for calls whose parameters have these values. */
interface MockCase {
  readonly when: Params
  readonly mock_response: unknown
}

/** Returns the `mock_response` of the first of `cases` that fits the parameters, otherwise that of the implementation. */
export const mock: Kind = {
  effect: () => 'read',
  runsProgram: false,
  warning: ({ implementation }) =>
    'mock_response' in implementation ? undefined : 'Mock tool has no mock_response: it will answer null',
  bind({ implementation }) {
    const cases = (implementation.cases ?? []) as readonly MockCase[]
    const fits = ({ when }: MockCase, params: Params): boolean =>
      Object.entries(when).every(([name, value]) => Object.hasOwn(params, name) && sameJson(params[name], value))
    const respond = (params: Params) => (cases.find((one) => fits(one, params)) ?? implementation).mock_response ?? null
    return () => respond
  },
}

/** The kinds that need nothing but their definition. Every executor has them. */
export const CORE_KINDS: Readonly<Record<string, Kind>> = { [CODE]: code, [DISCOVERY]: discovery, mock }

/** Stands for a kind that an executor was not given. */
export function missingKind(type: string): Kind {
  const fix = 'Pass the kinds: new ToolExecutor(registry, { kinds: kinds(new ToolHandlers()) })'
  const problem = `Unknown implementation type: ${type}. ${fix}, or use createToolyard()`
  return {
    effect: () => 'write',
    fault: () => problem,
    bind: () => () => {
      throw new ToolExecutionError('EXECUTION_ERROR', problem)
    },
  }
}

/** A tool in code. */
export type Code = ((...given: never) => unknown) | IsolatedHandler

/** What identifies a tool in code: its version, else the text of its functions. */
export const codeIdentity = (
  { version }: Pick<ToolDefinition, 'version'>,
  ...code: readonly (Code | undefined)[]
): string | readonly (string | null)[] => version ?? code.map((one) => (one === undefined ? null : codeText(one)))

const NATIVE = '[native code]'
const natives = new WeakMap<Code, string>()

export function codeText(code: Code): string {
  if (typeof code === 'function') {
    const text = Function.prototype.toString.call(code)
    if (!text.includes(NATIVE)) return text
    // The text of a bound function is that of all others: nobody can tell whether it is the same after a restart.
    const id = natives.get(code) ?? randomUUID()
    natives.set(code, id)
    return id
  }
  const { module, export: name, source, network } = code
  return JSON.stringify([name, source === undefined ? module : source(), ...(network === true ? ['network'] : [])])
}
