const LONGEST = 10_000

/** A value as people read it, on several lines where `indent` is given, and never endless. */
export function textOf(value: unknown, indent?: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, undefined, indent) ?? 'nothing')
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text
}
