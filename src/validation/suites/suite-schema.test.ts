import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { generateSuite } from './generate-suite.ts'
import { CASE_SCHEMA, FILE_SCHEMA, SUITE_LIMITS } from './suite-schema.ts'

const published = JSON.parse(
  readFileSync(new URL('../../../docs/reference/suite.schema.json', import.meta.url), 'utf8'),
)

test('docs/reference/suite.schema.json is up to date', () => {
  const cases = { type: 'array', items: CASE_SCHEMA, maxItems: SUITE_LIMITS.cases }
  expect(published).toEqual({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A suite of Toolyard',
    anyOf: [{ ...FILE_SCHEMA, properties: { ...FILE_SCHEMA.properties, cases } }, cases],
  })
})

test('accepts generated suites and the example in the docs, and rejects others', () => {
  const { check } = compileSchema(published)
  const parameters = { type: 'object', properties: { a: { type: 'string' } } }
  const suite = generateSuite([{ name: 'a', description: 'A.', parameters, implementation: { type: 'mock' } }])
  const page = readFileSync(new URL('../../../docs/guides/testing-models.md', import.meta.url), 'utf8')
  const shown = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? '')
  for (const one of [suite, suite.cases, shown]) expect(check?.(one)).toBe(true)
  expect(check?.({ cases: [{ query: 'q' }] })).toBe(false)
})
