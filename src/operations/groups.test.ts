import { expect, test } from 'vitest'
import { everyOperation } from './groups.ts'

test('every operation has an id of its own, and every route a method and a path', async () => {
  const all = await everyOperation()
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
  const routed = all.flatMap(({ path, ...rest }) => (path === undefined ? [] : [{ ...rest, path }]))
  expect(new Set(routed.map(({ method, path }) => `${method} ${path}`)).size).toBe(routed.length)
  for (const { path, params } of routed) {
    const inPath = path.split('/').flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : []))
    expect(Object.keys((params as { properties?: object })?.properties ?? {})).toEqual(inPath)
  }
})

test('fields of the path, the query and the body of an operation have different names', async () => {
  for (const { id, params, query, body, local } of await everyOperation()) {
    const fields = [params, query, body, local].flatMap((part) =>
      Object.keys((part as { properties?: object } | undefined)?.properties ?? {}),
    )
    expect([id, fields.filter((field, index) => fields.indexOf(field) !== index)]).toEqual([id, []])
  }
})
