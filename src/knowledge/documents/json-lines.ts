/** Texts in a list that are at most this long stand in one line. */
const SHORT = 100

/** A value as lines of `key: value`, with the keys that lead to each: `address.city: Paris`. What is empty is left out. */
export function jsonLines(value: unknown, prefix = '', lines: string[] = []): string[] {
  const label = prefix === '' ? '' : `${prefix}: `
  if (!isContainer(value)) {
    if (value !== null && value !== '') lines.push(label + scalarText(value))
  } else if (!Array.isArray(value)) {
    for (const [key, inner] of Object.entries(value)) jsonLines(inner, prefix === '' ? key : `${prefix}.${key}`, lines)
  } else if (value.every(isShort)) {
    if (value.length > 0) lines.push(label + value.map(scalarText).join(', '))
  } else for (const [index, inner] of value.entries()) jsonLines(inner, `${prefix}[${index}]`, lines)
  return lines
}

export const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null

const scalarText = (value: unknown): string => (typeof value === 'string' ? value.trim() : String(value))

const isShort = (value: unknown): boolean =>
  !isContainer(value) && (typeof value !== 'string' || (value.length <= SHORT && !value.includes('\n')))
