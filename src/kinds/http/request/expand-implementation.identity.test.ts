import { describe, expect, test } from 'vitest'
import type { Environment } from '../../../core/environment.ts'
import { withoutSecrets } from './expand-implementation.ts'

const GOOD = 'https://good.example'
const EVIL = 'https://evil.example'
const KEY = 'sk-aaaaaaaaaaaaaaaaaaaa'
const OTHER_KEY = 'sk-bbbbbbbbbbbbbbbbbbbb'
/** Names that only look like those of credentials. */
const CHOICES = [
  'PROJECT_KEY',
  'PARTITION_KEY',
  'OBJECT_KEY',
  'ACCOUNT_KEY',
  'ACCOUNT_PIN',
  'SIG',
  'KEY',
  'SESSION',
  'PASS',
]
const CREDENTIALS = ['API_KEY', 'BANK_API_KEY', 'TOKEN', 'GITHUB_TOKEN', 'DB_PASSWORD', 'CLIENT_SECRET', 'AUTH_KEY']
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

const WRITTEN_OUT: readonly (readonly [what: string, before: Side, after: Side])[] = [
  ['a key in the path', url(`${GOOD}/${KEY}/x`), url(`${GOOD}/${OTHER_KEY}/x`)],
  ['a parameter key', url(`${GOOD}/?key=tmpfile1`), url(`${GOOD}/?key=payroll1`)],
  ['a parameter token', url(`${GOOD}/?token=abcdefgh1`), url(`${GOOD}/?token=abcdefgh2`)],
  ['a password of the address', url('https://u:passw0rd@good.example'), url('https://u:passw1rd@good.example')],
  ['a parameter to_token', query('to_token', 'USDCOIN'), query('to_token', 'OTHERCOIN')],
  ['a parameter session', query('session', 'stagingx'), query('session', 'production')],
  ['a header named like a key', header('X-Target-Key', 'aaaaaaa'), header('X-Target-Key', 'bbbbbbb')],
  ['a token in a text', header('X-Note', 'token: abcdef target=x'), header('X-Note', 'token: ghijkl target=x')],
  ['a token', header('Authorization', 'Bearer abcdefgh'), header('Authorization', 'Bearer ijklmnop')],
  ['an account', header('Authorization', 'Account acme12345'), header('Authorization', 'Account evil12345')],
  ['a cookie', header('Cookie', 'account=acme12345'), header('Cookie', 'account=evil12345')],
  ['a password in JSON', query('q', '{"password":"abcdefgh"}'), query('q', '{"password":"ijklmnop"}')],
  ['a token of auth', [{ auth: { type: 'bearer', token: 'abcdefgh' } }], [{ auth: { type: 'bearer', token: 'ijkl' } }]],
  ['a private key', query('q', pem('a', 'x')), query('q', pem('b', 'x'))],
]

const VARIABLES: readonly (readonly [what: string, before: Side, after: Side])[] = [
  [
    'a token that becomes another path',
    url(`${GOOD}/v1/\${TENANT_TOKEN}/pay`, { TENANT_TOKEN: 't1' }),
    url(`${GOOD}/v1/\${TENANT_TOKEN}/pay`, { TENANT_TOKEN: '..' }),
  ],
  [
    'a token after more slashes, which is the host',
    url('${BASE}/${HOST_TOKEN}', { BASE: 'http://', HOST_TOKEN: 'good.example' }),
    url('${BASE}/${HOST_TOKEN}', { BASE: 'http://', HOST_TOKEN: 'evil.example' }),
  ],
  ...CHOICES.flatMap((name) => {
    const [one, other] = [{ [name]: 'ALPHA1' }, { [name]: 'OMEGA1' }]
    const places: readonly (readonly [string, (env: Environment) => Side])[] = [
      ['the path', (env) => url(`${GOOD}/d/\${${name}}`, env)],
      ['the query of the address', (env) => url(`${GOOD}/d?target=\${${name}}`, env)],
      ['a parameter', (env) => query('target', `\${${name}}`, env)],
      ['a header', (env) => header('X-Project', `\${${name}}`, env)],
      ['a parameter named key', (env) => query('key', `\${${name}}`, env)],
    ]
    return places.map(([place, side]) => [`${name} in ${place}`, side(one), side(other)] as const)
  }),
  [
    'a key in the value of a variable',
    header('X-Note', '${NOTE}', { NOTE: KEY }),
    header('X-Note', '${NOTE}', { NOTE: OTHER_KEY }),
  ],
  [
    'a path in the value of a variable',
    url('${BASE}/x', { BASE: `${GOOD}/token=abcdefgh1` }),
    url('${BASE}/x', { BASE: `${GOOD}/token=abcdefgh2` }),
  ],
  [
    'a variable beside a parameter named like a secret',
    url(`${GOOD}/?token=a&to=\${ONE}`, { ONE: 'first' }),
    url(`${GOOD}/?token=a&to=\${ONE}`, { ONE: 'second' }),
  ],
  [
    'what follows a password and ends the host',
    url('https://u:${ONE}@good.example', { ONE: 'x@evil.example/' }),
    url('https://u:${ONE}@good.example', { ONE: 'x@good.example/' }),
  ],
  ['another name of a variable', url(`${GOOD}/\${ONE}`, { ONE: 'x' }), url(`${GOOD}/\${TWO}`, { TWO: 'x' })],
]

const LEFT_OUT: readonly (readonly [what: string, before: Side, after: Side])[] = [
  [
    'a token that begins like a path',
    header('Authorization', 'Bearer ${API_TOKEN}', { API_TOKEN: 'abc+def' }),
    header('Authorization', 'Bearer ${API_TOKEN}', { API_TOKEN: '/abc+def' }),
  ],
  ...CREDENTIALS.flatMap((name) => {
    const [one, other] = [{ [name]: 'aB+/c9==' }, { [name]: 'dE-_f0' }]
    const places: readonly (readonly [string, (env: Environment) => Side])[] = [
      ['a header', (env) => header('X-Note', `n \${${name}}`, env)],
      ['a parameter', (env) => query('q', `\${${name}}`, env)],
      ['the query of the address', (env) => url(`${GOOD}/?q=\${${name}}`, env)],
    ]
    return places.map(([place, side]) => [`${name} in ${place}`, side(one), side(other)] as const)
  }),
  [
    'a token in the path',
    url('${BASE}/bot${BOT_TOKEN}/send', { BASE: GOOD, BOT_TOKEN: '1:abc' }),
    url('${BASE}/bot${BOT_TOKEN}/send', { BASE: GOOD, BOT_TOKEN: '2:def' }),
  ],
  [
    'the path of a stored secret',
    url(`\${${SOURCED}}/x`, { [SOURCED]: `${GOOD}/hooks/1` }),
    url(`\${${SOURCED}}/x`, { [SOURCED]: `${GOOD}/hooks/2` }),
  ],
  [
    'a variable of a parameter named like a secret',
    url(`${GOOD}/?token=\${ONE}`, { ONE: 'first/value' }),
    url(`${GOOD}/?token=\${ONE}`, { ONE: 'second+value' }),
  ],
  [
    'a variable of a password',
    url('https://u:${ONE}@good.example/', { ONE: 'first' }),
    url('https://u:${ONE}@good.example/', { ONE: 'second' }),
  ],
  ...['Authorization', 'Cookie', 'X-Api-Key', 'Ocp-Apim-Subscription-Key'].map(
    (name) =>
      [
        `a variable of the header ${name}`,
        header(name, 'Bearer ${ONE}', { ONE: 'a/b+c d' }),
        header(name, 'Bearer ${ONE}', { ONE: 'other' }),
      ] as const,
  ),
  ...(
    [
      { type: 'bearer', token: '${ONE}' },
      { type: 'basic', username: 'u', password: '${ONE}' },
      { type: 'api_key', in: 'header', name: 'x', value: '${ONE}' },
      { type: 'oauth2_client_credentials', token_url: GOOD, client_id: 'a', client_secret: '${ONE}' },
    ] as const
  ).map((auth) => [`a variable of auth ${auth.type}`, [{ auth }, { ONE: 'a' }], [{ auth }, { ONE: 'b' }]] as const),
]

describe('the identity of an HTTP tool', () => {
  test.each([...COUNTS, ...VARIABLES])('contains %s', (_what, before, after) => {
    expect(identity(before)).not.toBe(identity(after))
  })

  test.each(WRITTEN_OUT)('contains %s that is written out', (_what, before, after) => {
    expect(identity(before)).not.toBe(identity(after))
  })

  test.each(LEFT_OUT)('leaves out %s', (_what, before, after) => {
    expect(identity(before)).toBe(identity(after))
  })
})
