import { expect, test } from 'vitest'
import { everyOperation } from './groups.ts'

test('every operation has an id, a method and a path of its own', async () => {
  const all = await everyOperation()
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
  expect(new Set(all.map(({ method, path }) => `${method} ${path}`)).size).toBe(all.length)
  for (const { path, params } of all) {
    const inPath = path.split('/').flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : []))
    expect(Object.keys((params as { properties?: object })?.properties ?? {})).toEqual(inPath)
  }
})
