import type { FileCase } from '../../../../src/validation/suites/suite.ts'

/** A case as it is edited: the query as text, its other parts as JSON. */
interface CaseTexts {
  readonly query: string
  readonly expect: string
  readonly rest: string
}

/** The edited case, or why it can't be read. The server checks the rest. */
export function readCase({ query, expect, rest }: CaseTexts): { value?: FileCase; problem?: string } {
  if (query.trim() === '') return { problem: 'Write what the user asks.' }
  const expected = objectIn(expect)
  if (expected === undefined) return { problem: 'Expected is not a JSON object.' }
  const others = objectIn(rest)
  if (others === undefined) return { problem: 'The rest of the case is not a JSON object.' }
  return { value: { ...others, query: query.trim(), expect: expected } }
}

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
