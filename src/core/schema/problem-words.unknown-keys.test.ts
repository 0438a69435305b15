import { expect, test } from 'vitest'
import { unknownKeys } from './problem-words.ts'

const SCHEMA = {
  properties: {
    headers: { type: 'object', additionalProperties: { type: 'string' } },
    retry: { properties: { max_attempts: {}, backoff_ms: {} } },
    pagination: { oneOf: [{ properties: { type: {}, first_page: {} } }, { properties: { type: {}, cursor: {} } }] },
  },
}

test.each([
  [{ header: {} }, ["unknown key 'a.header': did you mean 'headers'?"]],
  [{ zzz: 1 }, [`unknown key 'a.zzz': remove it, or start its name with "x-"`]],
  [{ retry: { max_attempts: 1, backof_ms: 1 } }, ["unknown key 'a.retry.backof_ms': did you mean 'backoff_ms'?"]],
  [
    { pagination: { type: 'page', frist_page: 1 } },
    ["unknown key 'a.pagination.frist_page': did you mean 'first_page'?"],
  ],
  [{ headers: { anything: 'x' }, 'x-owner': 1, pagination: { cursor: 'next' } }, []],
])('%j', (value, problems) => {
  expect(unknownKeys(value, SCHEMA, 'a')).toEqual(problems)
})
