import { expect, test } from 'vitest'
import { AllowedMethods } from './allowed-methods.ts'

test('a path is known by its methods, whatever stands in the place of its parameters', () => {
  const methods = new AllowedMethods()
  methods.add('/api/jobs/:id', 'GET')
  methods.add('/api/jobs/:id', ['DELETE', 'HEAD'])
  methods.add('/api/jobs', 'GET')
  methods.add('/docs/static/*', 'GET')
  methods.add('/openapi.json', 'GET')
  expect(methods.of('/api/jobs/7')).toEqual(['DELETE', 'GET', 'HEAD'])
  expect(methods.of('/api/jobs')).toEqual(['GET'])
  expect(methods.of('/docs/static/a/b.css')).toEqual(['GET'])
  for (const unknown of ['/api/jobs/7/8', '/api/jobs/', '/openapixjson', '/', '']) {
    expect(methods.of(unknown)).toEqual([])
  }
})
