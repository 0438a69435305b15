import { expect, test } from 'vitest'
import { mirroringProblem } from './listed-tool.ts'

const marked = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name })
const schema = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

test('parameters that a header can hold are mirrored, those of nested objects too', () => {
  const nested = { type: 'object', properties: { region: marked('Region') } }
  expect(mirroringProblem(schema({ a: marked('A'), b: marked('B', 'integer'), c: marked('C', 'boolean') }))).toBe(
    undefined,
  )
  expect(mirroringProblem(schema({ nested, plain: { type: 'number' } }))).toBe(undefined)
})

test('a parameter that is called like the mark is a parameter', () => {
  expect(mirroringProblem(schema({ 'x-mcp-header': { type: 'object', default: marked('') } }))).toBe(undefined)
})

test.each([
  ['', 'string'],
  ['My Region', 'string'],
  ['Region:Primary', 'string'],
  ['Région', 'string'],
  ['Region\t1', 'string'],
  [7, 'string'],
  ['Score', 'number'],
  ['Data', 'object'],
  ['List', 'array'],
  ['Nil', 'null'],
  ['Either', ['string', 'null']],
])('the mark %j on a parameter of type %j is refused', (name, type) => {
  expect(mirroringProblem(schema({ one: marked(name, type) }))).toMatch(/^x-mcp-header of one /)
})

test('two parameters cannot have one header, whatever its case', () => {
  const problem = mirroringProblem(schema({ a: marked('Region'), b: marked('region') }))
  expect(problem).toMatch(/is used by another parameter$/)
})

test.each([
  schema({ list: { type: 'array', items: marked('Item') } }),
  schema({}, { $defs: { one: marked('One') } }),
  schema({}, { anyOf: [schema({ one: marked('One') })] }),
  schema({ one: { type: 'object', additionalProperties: schema({ deep: marked('Deep') }) } }),
  { ...schema({}), 'x-mcp-header': 'All' },
])('a mark where a call has no single value is refused: %j', (parameters) => {
  expect(mirroringProblem(parameters)).toMatch(/does not belong to a parameter$/)
})

test('a schema of any depth is read', () => {
  let deep: Record<string, unknown> = marked('Deep', 'number')
  for (let level = 0; level < 20_000; level++) deep = { type: 'object', properties: { a: deep } }
  expect(mirroringProblem(deep)).toMatch(/belongs to a type that a header cannot hold$/)
})
