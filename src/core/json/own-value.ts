/** The value of an own property. A plain `record[name]` also finds what objects inherit, such as `constructor`. */
export function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** Sets an own property of any name. A plain assignment to `__proto__` would replace the prototype. */
export function setOwn(record: object, name: string, value: unknown): void {
  if (name !== '__proto__') (record as Record<string, unknown>)[name] = value
  else Object.defineProperty(record, name, { value, writable: true, enumerable: true, configurable: true })
}
