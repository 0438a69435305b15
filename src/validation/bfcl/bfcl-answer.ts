/** One accepted call: the function's name, and for each parameter the values that are right. */
export interface AcceptedCall {
  readonly name: string
  readonly params: AcceptedParams
}

/** `""` among the values of a parameter means that it may be left out. */
export type AcceptedParams = Readonly<Record<string, readonly unknown[]>>

/** Reads `{function: {parameter: [values]}}`, as the files of answers have it; undefined where it is none. */
export function acceptedCall(written: unknown): AcceptedCall | undefined {
  if (typeof written !== 'object' || written === null) return undefined
  const [entry, ...others] = Object.entries(written as Record<string, unknown>)
  if (entry === undefined || others.length > 0) return undefined
  const [name, params] = entry
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return undefined
  const accepted = Object.entries(params as Record<string, unknown>).map(([parameter, values]) => [
    parameter,
    acceptedValues(values),
  ])
  return { name, params: Object.fromEntries(accepted) }
}

/**
 * Everywhere the accepted values stand in a list. Seven times in two cases that list is empty: there the empty list is
 * meant, because otherwise nothing would be right. Once a value stands alone.
 */
export function acceptedValues(values: unknown): readonly unknown[] {
  if (!Array.isArray(values)) return [values]
  return values.length === 0 ? [[]] : values
}

/** Whether a parameter with these accepted values may be left out. */
export const mayBeLeftOut = (values: readonly unknown[]): boolean => values.includes('')
