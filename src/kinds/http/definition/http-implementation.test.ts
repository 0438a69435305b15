import { expect, test } from 'vitest'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import { HTTP_IMPLEMENTATION_SCHEMA } from './http-implementation.ts'

test('every key is described, for editors', () => {
  const { type: _, ...keys } = HTTP_IMPLEMENTATION_SCHEMA.properties
  for (const [key, schema] of Object.entries(keys)) {
    expect([key, isObject(schema) && typeof schema.description]).toEqual([key, 'string'])
  }
})
