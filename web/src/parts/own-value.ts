/** The value of an own property. A plain `record[name]` also finds what objects inherit, such as `constructor`. */
export function ownValue<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}
