import { ToolExecutionError } from '../core/tool-execution-error.ts'

/** PostgreSQL keeps no NUL in text, so that no engine takes one: what is kept must not depend on where. */
export function refuseNul(values: readonly unknown[]): void {
  for (const value of values) {
    if (typeof value === 'string' && value.includes('\0')) {
      const shown = JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
      throw new ToolExecutionError('INVALID_PARAMETERS', `The store keeps no NUL characters: take them out of ${shown}`)
    }
  }
}

/** For records that must not be lost: what cannot be kept is marked as such. */
export function replaceNul(text: string): string
export function replaceNul(text: string | null): string | null
export function replaceNul(text: string | null): string | null {
  return text?.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text
}
