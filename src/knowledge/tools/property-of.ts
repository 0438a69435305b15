/** The value of a property of that name, however a model writes its letters. */
export function propertyOf(value: object, name: string): unknown {
  if (Object.hasOwn(value, name)) return Reflect.get(value, name)
  const wanted = name.toLowerCase()
  const found = Object.keys(value).find((key) => key.trim().toLowerCase() === wanted)
  return found === undefined ? undefined : Reflect.get(value, found)
}
