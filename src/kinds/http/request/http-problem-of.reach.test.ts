import { expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { silentLog } from '../../../core/log.ts'
import { HttpKind } from '../http-kind.ts'
import { httpTool } from './fixtures/http-tool.ts'

const env = { BASE: 'http://10.0.0.1', SECRET: 'a-long-secret' }
const warning = (implementation: Readonly<Record<string, unknown>>, settings = {}): string | undefined =>
  new HttpKind({ settings, env, log: silentLog, clock: systemClock }).fault(httpTool(implementation))

test('warns about a tool whose URL is blocked', () => {
  const oauth = { type: 'oauth2', client_id: 'id', client_secret: '${SECRET}' }
  expect(warning({ url: '${BASE}/x' })).toBe(
    'It is blocked by network policy. The host \'10.0.0.1\' was refused: it is a private address. If tools are meant to reach it, add "10.0.0.1" to http.allow_private.',
  )
  expect(warning({ url: 'https://a.test/', allowed_domains: ['b.test'] })).toContain(
    "The host 'a.test' was refused: it is not in the tool's implementation.allowed_domains",
  )
  expect(warning({ url: 'https://a.test/' }, { allowed_domains: ['b.test'] })).toContain('not in http.allowed_domains')
  expect(warning({ url: 'https://a.test/', auth: { ...oauth, token_url: 'http://[::1]/t' } })).toContain("'::1'")
})

test('does not warn about an allowed URL', () => {
  expect(warning({ url: '${BASE}/x' }, { allow_private: ['10.0.0.0/8'] })).toBe(undefined)
  expect(warning({ url: 'https://a.test/{id}' }, { allowed_domains: ['*.test'] })).toBe(undefined)
  // The variable is asked for elsewhere.
  expect(warning({ url: '${NOT_SET}/x' })).toBe(undefined)
})
