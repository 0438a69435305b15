/** A value of the document, and the file it stands in: references in it start from there. */
export interface Raw {
  readonly value: unknown
  readonly file: string
}

/** An object of the document. Nothing in it is trusted. */
export type RawObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is RawObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The own property of that name, never an inherited one. */
export function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** The same as a text, or undefined where it is none or empty. */
export function ownText(value: unknown, key: string): string | undefined {
  const text = own(value, key)
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** The same as an object; an empty one where it is none. */
export function ownObject(value: unknown, key: string): RawObject {
  const object = own(value, key)
  return isObject(object) ? object : {}
}

/** The same as a list; an empty one where it is none. */
export function ownList(value: unknown, key: string): readonly unknown[] {
  const list = own(value, key)
  return Array.isArray(list) ? list : []
}

/** A text of the document as part of a sentence of ours: on one line, and not too long. */
export function quoted(text: string): string {
  const line = text.replace(/[\p{C}\p{Z}]+/gu, ' ')
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 119)}…` : line)
}
