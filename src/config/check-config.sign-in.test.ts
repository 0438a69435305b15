import { expect, test } from 'vitest'
import { checkConfig } from './check-config.ts'

const introspection = { client_id: 'api', client_secret: '${API_SECRET}' }
const oidc = {
  issuer: 'https://login.example.com/realms/acme',
  audience: 'https://tools.example.com',
  client_id: 'toolyard',
  tenant_claim: 'tenant',
  role_claim: 'roles',
  roles: { staff: 'user' },
}
const check = (more: object) => checkConfig({ auth: { oidc: { ...oidc, ...more } } }, 'x.json')

test.each<[string, object]>([
  ['the usual settings', {}],
  ['several claims of roles', { role_claim: ['realm_access.roles', 'https://example.com/roles'] }],
  ['a claim of users', { user_claim: 'oid' }],
  ['all signed tokens', { tokens: 'jwt' }],
  ['tokens by RFC 9068 beside opaque ones', { tokens: 'rfc9068', introspection }],
  ['all settings of introspection', { introspection: { ...introspection, jwt: true, cache_ms: 0, timeout_ms: 100 } }],
  ['an endpoint with a query', { introspection: { ...introspection, endpoint: 'https://x.example/check?realm=a' } }],
  ['an endpoint on this machine', { introspection: { ...introspection, endpoint: 'http://127.0.0.1:9000/check' } }],
  ['a secret of a file', { introspection: { ...introspection, client_secret: '${file:api.secret}' } }],
  ['a tenant of Entra ID', { issuer: 'https://login.microsoftonline.com/9f3c6f0e-33aa-4b55-8c11-6a1c2d7d9e01/v2.0' }],
  ['an issuer of version 1', { issuer: 'https://sts.windows.net/9f3c6f0e-33aa-4b55-8c11-6a1c2d7d9e01/' }],
])('auth.oidc takes %s', (_what, more) => {
  expect(() => check(more)).not.toThrow()
})

test.each<[string, object, string]>([
  [
    'an issuer without https',
    { issuer: 'http://login.example.com' },
    'auth.oidc.issuer "http://login.example.com" must be',
  ],
  [
    'an issuer with a query',
    { issuer: 'https://login.example.com?a' },
    'auth.oidc.issuer "https://login.example.com?a"',
  ],
  [
    'the template of all tenants',
    { issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' },
    'stands for many tenants of Entra ID: write the id of yours',
  ],
  ...['common', 'organizations', 'consumers'].map((name): [string, object, string] => [
    `the tenant "${name}"`,
    { issuer: `https://login.microsoftonline.com/${name}/v2.0` },
    'stands for many tenants of Entra ID: write the id of yours',
  ]),
  ['unknown tokens', { tokens: 'opaque' }, 'auth.oidc.tokens must be one of: jwt, rfc9068'],
  ['no claim of roles', { role_claim: [] }, 'auth.oidc.role_claim must have at least 1 item'],
  ['a claim that is no text', { role_claim: [7] }, 'auth.oidc.role_claim[0] must be a string'],
  ['an empty claim', { user_claim: '' }, 'auth.oidc.user_claim must have at least 1 character'],
  ['introspection without a client', { introspection: {} }, "missing 'auth.oidc.introspection.client_id'"],
  [
    'a misspelled key',
    { introspection: { ...introspection, endpiont: 'x' } },
    "unknown key 'auth.oidc.introspection.endpiont': did you mean 'endpoint'?",
  ],
  [
    'an endpoint without https',
    { introspection: { ...introspection, endpoint: 'http://login.example.com/check' } },
    'auth.oidc.introspection.endpoint "http://login.example.com/check" must be an https address',
  ],
  [
    'a literal secret',
    { introspection: { ...introspection, client_secret: 'plain' } },
    'auth.oidc.introspection.client_secret contains a secret',
  ],
  ['a negative time', { introspection: { ...introspection, cache_ms: -1 } }, 'cache_ms must be at least 0'],
  ['a long time', { introspection: { ...introspection, cache_ms: 3_600_001 } }, 'cache_ms must be at most'],
  ['no time', { introspection: { ...introspection, timeout_ms: 0 } }, 'timeout_ms must be at least 100'],
  [
    'tokens that are never verified here',
    { tokens: 'rfc9068', introspection: { ...introspection, jwt: true } },
    'auth.oidc.tokens has no effect, because auth.oidc.introspection.jwt is true: remove one of them.',
  ],
])('auth.oidc refuses %s', (_what, more, problem) => {
  expect(() => check(more)).toThrow(problem)
})
