import { describe, expect, test } from 'vitest'
import type { Environment } from '../../../core/environment.ts'
import { withoutSecrets } from './expand-implementation.ts'

const GOOD = 'https://good.example'
const EVIL = 'https://evil.example'
const KEY = 'sk-aaaaaaaaaaaaaaaaaaaa'
const OTHER_KEY = 'sk-bbbbbbbbbbbbbbbbbbbb'
const SOURCED = 'TOOLYARD_SECRET_STORED_BASE'

interface Written {
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly auth?: Readonly<Record<string, string>>
}
type Side = readonly [implementation: Written, env?: Environment | undefined]

const identity = ([implementation, env = {}]: Side): string =>
  JSON.stringify(withoutSecrets({ type: 'http', url: GOOD, ...implementation } as never, env))

const url = (text: string, env?: Environment): Side => [{ url: text }, env]
const header = (name: string, text: string, env?: Environment): Side => [{ headers: { [name]: text } }, env]
const query = (name: string, text: string, env?: Environment): Side => [{ query: { [name]: text } }, env]

const COUNTS: readonly (readonly [what: string, before: Side, after: Side])[] = [
  ['the host beside a key in the path', url(`${GOOD}/${KEY}/x`), url(`${EVIL}/${KEY}/x`)],
  ['the path beside a key in it', url(`${GOOD}/${KEY}/x`), url(`${GOOD}/${KEY}/y`)],
  ['the host beside a token', url(`${GOOD}/a?token=abcdefgh1`), url(`${EVIL}/a?token=abcdefgh1`)],
  ['the path beside a token', url(`${GOOD}/a?token=abcdefgh1`), url(`${GOOD}/b?token=abcdefgh1`)],
  [
    'a parameter beside a key',
    url(`${GOOD}/a?api_key=abcdefgh1&target=staging`),
    url(`${GOOD}/a?api_key=abcdefgh1&target=production`),
  ],
  [
    'the path after a password',
    url(`${GOOD}/password=abcdefgh/staging/delete`),
    url(`${GOOD}/password=abcdefgh/production/delete`),
  ],
  [
    'a host that looks like a key',
    url('https://pk-production-database.example'),
    url('https://pk-staging-database.example'),
  ],
  ['the address in AUTH_URL', url('${AUTH_URL}/x', { AUTH_URL: GOOD }), url('${AUTH_URL}/x', { AUTH_URL: EVIL })],
  [
    'the address in TOKEN_SERVICE',
    url('${TOKEN_SERVICE}/x', { TOKEN_SERVICE: GOOD }),
    url('${TOKEN_SERVICE}/x', { TOKEN_SERVICE: EVIL }),
  ],
  ['the address in API_TOKEN', url('${API_TOKEN}/x', { API_TOKEN: GOOD }), url('${API_TOKEN}/x', { API_TOKEN: EVIL })],
  [
    'the path of the address in API_TOKEN',
    url('${API_TOKEN}/x', { API_TOKEN: `${GOOD}/staging` }),
    url('${API_TOKEN}/x', { API_TOKEN: `${GOOD}/production` }),
  ],
  [
    'the host in API_TOKEN',
    url('https://${API_TOKEN}/x', { API_TOKEN: 'good.example' }),
    url('https://${API_TOKEN}/x', { API_TOKEN: 'evil.example' }),
  ],
  [
    'the port in BANK_KEY',
    url('https://x.example:${BANK_KEY}/x', { BANK_KEY: '8080' }),
    url('https://x.example:${BANK_KEY}/x', { BANK_KEY: '9090' }),
  ],
  [
    'several path segments in BANK_KEY',
    url(`${GOOD}/\${BANK_KEY}/x`, { BANK_KEY: 'staging/pay' }),
    url(`${GOOD}/\${BANK_KEY}/x`, { BANK_KEY: 'production/pay' }),
  ],
  [
    'the segment in AUTH_PATH',
    url(`${GOOD}/\${AUTH_PATH}`, { AUTH_PATH: 'pay' }),
    url(`${GOOD}/\${AUTH_PATH}`, { AUTH_PATH: 'refund' }),
  ],
  [
    'the host in a value with a key',
    url('${BASE}/x', { BASE: `${GOOD}/${KEY}` }),
    url('${BASE}/x', { BASE: `${EVIL}/${KEY}` }),
  ],
  [
    'the host in a value with a password',
    url('${BASE}/x', { BASE: 'https://u:passw0rd@good.example' }),
    url('${BASE}/x', { BASE: 'https://u:passw0rd@evil.example' }),
  ],
  [
    'the host after a backslash',
    url('${BASE}/x', { BASE: 'https://good.example:80\\@x.example' }),
    url('${BASE}/x', { BASE: 'https://good.example:81\\@x.example' }),
  ],
  [
    'the origin of an address that is a stored secret',
    url(`\${${SOURCED}}/x`, { [SOURCED]: `${GOOD}/hooks/1` }),
    url(`\${${SOURCED}}/x`, { [SOURCED]: `${EVIL}/hooks/1` }),
  ],
  [
    'the host that is a stored secret',
    url(`https://\${${SOURCED}}/x`, { [SOURCED]: 'good.example' }),
    url(`https://\${${SOURCED}}/x`, { [SOURCED]: 'evil.example' }),
  ],
  [
    'the name of the variable of a parameter named like a secret',
    url(`${GOOD}/?token=\${ONE}`, { ONE: 'same-value' }),
    url(`${GOOD}/?token=\${TWO}`, { TWO: 'same-value' }),
  ],
  [
    'a text beside a token',
    header('X-Note', 'token: abcdef target=staging'),
    header('X-Note', 'token: abcdef target=production'),
  ],
  [
    'a text beside a token in a variable',
    header('X-Note', '${NOTE}', { NOTE: 'token: abcdef target=staging' }),
    header('X-Note', '${NOTE}', { NOTE: 'token: abcdef target=production' }),
  ],
  ['a text beside a key', header('X-Note', `${KEY} staging`), header('X-Note', `${KEY} production`)],
  [
    'a cookie beside a session',
    header('Cookie', 'session=abcdefgh; account=staging'),
    header('Cookie', 'session=abcdefgh; account=production'),
  ],
  [
    'JSON beside a password',
    header('X-Note', '{"password":"abcdefgh","to":"a"}'),
    header('X-Note', '{"password":"abcdefgh","to":"b"}'),
  ],
  [
    'a number in JSON beside a password',
    query('q', '{"password":"abcdefgh","to":12345678901234567890}'),
    query('q', '{"password":"abcdefgh","to":12345678901234567891}'),
  ],
  [
    'the address in a header named like a secret',
    header('X-Auth', '${WHERE}', { WHERE: GOOD }),
    header('X-Auth', '${WHERE}', { WHERE: EVIL }),
  ],
  ['what follows a private key', query('q', pem('a', 'staging')), query('q', pem('a', 'production'))],
  [
    'the address of tokens',
    [{ auth: { type: 'oauth2_client_credentials', token_url: '${AUTH_URL}/t' } }, { AUTH_URL: GOOD }],
    [{ auth: { type: 'oauth2_client_credentials', token_url: '${AUTH_URL}/t' } }, { AUTH_URL: EVIL }],
  ],
]

function pem(key: string, after: string): string {
  return `-----BEGIN PRIVATE KEY-----${key}-----END PRIVATE KEY-----${after}`
}

const LEFT_OUT: readonly (readonly [what: string, before: Side, after: Side])[] = [
  ['a key in the path', url(`${GOOD}/${KEY}/x`), url(`${GOOD}/${OTHER_KEY}/x`)],
  ['a token in the query', url(`${GOOD}/?token=abcdefgh1&a=b`), url(`${GOOD}/?token=abcdefgh2&a=b`)],
  [
    'a password in a variable of the address',
    url('${BASE}/x', { BASE: 'https://u:passw0rd@good.example' }),
    url('${BASE}/x', { BASE: 'https://u:passw1rd@good.example' }),
  ],
  [
    'a key in a variable of the address',
    url('${BASE}/x', { BASE: `${GOOD}/${KEY}` }),
    url('${BASE}/x', { BASE: `${GOOD}/${OTHER_KEY}` }),
  ],
  [
    'the path of a stored secret',
    url(`\${${SOURCED}}/x`, { [SOURCED]: `${GOOD}/hooks/1` }),
    url(`\${${SOURCED}}/x`, { [SOURCED]: `${GOOD}/hooks/2` }),
  ],
  [
    'a variable of a parameter named like a secret',
    url(`${GOOD}/?token=\${ONE}`, { ONE: 'first-value' }),
    url(`${GOOD}/?token=\${ONE}`, { ONE: 'second-value' }),
  ],
  ['a token in a text', header('X-Note', 'token: abcdef target=x'), header('X-Note', 'token: ghijkl target=x')],
  ['a literal token', header('Authorization', 'Bearer abcdefgh'), header('Authorization', 'Bearer ijklmnop')],
  ['a session', header('Cookie', 'session=abcdefgh; account=x'), header('Cookie', 'session=ijklmnop; account=x')],
  [
    'a password in JSON',
    query('q', '{"password":"abcdefgh","to":"a"}'),
    query('q', '{"password":"ijklmnop","to":"a"}'),
  ],
  ['a private key', query('q', pem('a', 'x')), query('q', pem('b', 'x'))],
  ['a key in a variable', header('X-Note', '${NOTE}', { NOTE: KEY }), header('X-Note', '${NOTE}', { NOTE: OTHER_KEY })],
  [
    'a secret variable',
    header('X-Note', 'n ${BANK_KEY}', { BANK_KEY: 'a/b+c d' }),
    header('X-Note', 'n ${BANK_KEY}', { BANK_KEY: 'other' }),
  ],
]

describe('the identity of an HTTP tool', () => {
  test.each(COUNTS)('contains %s', (_what, before, after) => {
    expect(identity(before)).not.toBe(identity(after))
  })

  test.each(LEFT_OUT)('leaves out %s', (_what, before, after) => {
    expect(identity(before)).toBe(identity(after))
  })
})
