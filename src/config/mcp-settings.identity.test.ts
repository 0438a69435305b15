import { describe, expect, test } from 'vitest'
import type { Environment } from '../core/environment.ts'
import type { Config } from './config.ts'
import { readMcpServers } from './mcp-settings.ts'

const SOURCED = 'TOOLYARD_SECRET_STORED_X'
const TOKEN = `ghp_${'a'.repeat(28)}`
const OTHER_TOKEN = `ghp_${'b'.repeat(28)}`
const INPUTS = [{ id: 'what' }, { id: 'pin-of-it', password: true }]

type Side = readonly [server: object, env?: Environment | undefined]

function identity([server, env = {}]: Side): string {
  const { servers } = readMcpServers({ mcpServers: { one: server }, inputs: INPUTS } as Config, env, '/work')
  return JSON.stringify(servers[0]?.identity)
}

const url = (text: string, env?: Environment): Side => [{ url: text }, env]
const args = (text: string, env?: Environment): Side => [{ command: 'node', args: [text] }, env]
const env = (name: string, text: string, values?: Environment): Side => [
  { command: 'node', env: { [name]: text } },
  values,
]
const good = 'https://good.example'
const evil = 'https://evil.example'
const json = (say: string, password = 'abcdefgh') => JSON.stringify({ say, password })

const COUNTS: readonly (readonly [what: string, before: Side, after: Side])[] = [
  ['the host beside a key', url(`${good}/mcp?api_key=abcdefgh12`), url(`${evil}/mcp?api_key=abcdefgh12`)],
  [
    'the host beside a key in the path',
    url(`${good}/s/sk-aaaaaaaaaaaaaaaaaaaaaa/mcp`),
    url(`${evil}/s/sk-aaaaaaaaaaaaaaaaaaaaaa/mcp`),
  ],
  [
    'the host beside a password',
    url('https://u:passw0rd@good.example/mcp'),
    url('https://u:passw0rd@evil.example/mcp'),
  ],
  [
    'the user beside a password',
    url('https://u:passw0rd@good.example/mcp'),
    url('https://v:passw0rd@good.example/mcp'),
  ],
  [
    'the host in MCP_URL beside a token',
    url('${MCP_URL}', { MCP_URL: `${good}/?token=abcdefgh` }),
    url('${MCP_URL}', { MCP_URL: `${evil}/?token=abcdefgh` }),
  ],
  [
    'the host in AUTH_MCP_URL',
    url('${AUTH_MCP_URL}', { AUTH_MCP_URL: good }),
    url('${AUTH_MCP_URL}', { AUTH_MCP_URL: evil }),
  ],
  ['the host in API_TOKEN', url('${API_TOKEN}', { API_TOKEN: good }), url('${API_TOKEN}', { API_TOKEN: evil })],
  [
    'the origin in a stored secret',
    url(`\${${SOURCED}}`, { [SOURCED]: `${good}/a` }),
    url(`\${${SOURCED}}`, { [SOURCED]: `${evil}/a` }),
  ],
  [
    'what follows a key in a command',
    args('API_KEY=abcdefgh1 exec node good'),
    args('API_KEY=abcdefgh1 exec node evil'),
  ],
  [
    'what follows a token in a command',
    args(`export GH=${TOKEN}; exec node good`),
    args(`export GH=${TOKEN}; exec node evil`),
  ],
  ['a command in place of a key', args('API_KEY=$(good) exec node'), args('API_KEY=$(evil) exec node')],
  [
    'a command in place of a token of an address',
    args('curl https://x.example/?token=$(goodgood)'),
    args('curl https://x.example/?token=$(evilevil)'),
  ],
  ['an argument beside a password', args(json('good')), args(json('evil'))],
  [
    'the host of a database',
    args('postgresql://app:hunter22@staging/db'),
    args('postgresql://app:hunter22@production/db'),
  ],
  ['the database', args('postgresql://app:hunter22@staging/a'), args('postgresql://app:hunter22@staging/b')],
  [
    'the host of an address in a text',
    args('--db=postgresql://app:hunter22@staging/db'),
    args('--db=postgresql://app:hunter22@production/db'),
  ],
  [
    'the host of a database named like a token',
    args('token=postgresql://app:hunter22@staging'),
    args('token=postgresql://app:hunter22@other'),
  ],
  [
    'the file in AUTH_SERVER',
    args('${AUTH_SERVER}', { AUTH_SERVER: 'good' }),
    args('${AUTH_SERVER}', { AUTH_SERVER: 'evil' }),
  ],
  ['the file in AUTH', args('${AUTH}', { AUTH: 'good.js' }), args('${AUTH}', { AUTH: 'evil.js' })],
  ['the path in AUTH', args('${AUTH}', { AUTH: 'x/good' }), args('${AUTH}', { AUTH: 'x/evil' })],
  [
    'the origin of a stored secret in an argument',
    args(`\${${SOURCED}}`, { [SOURCED]: 'pg://a:b@good/x' }),
    args(`\${${SOURCED}}`, { [SOURCED]: 'pg://a:b@evil/x' }),
  ],
  ['the command in AUTH', [{ command: '${AUTH}' }, { AUTH: 'good' }], [{ command: '${AUTH}' }, { AUTH: 'evil' }]],
  [
    'an input',
    args('${input:what}', { TOOLYARD_INPUT_WHAT: 'good' }),
    args('${input:what}', { TOOLYARD_INPUT_WHAT: 'evil' }),
  ],
  [
    'a variable of the folder',
    [{ command: 'x', cwd: '${ROOT}' }, { ROOT: '/srv/a' }],
    [{ command: 'x', cwd: '${ROOT}' }, { ROOT: '/srv/b' }],
  ],
  [
    'a variable of the folder named like a secret',
    [{ command: 'x', cwd: '${AUTH}' }, { AUTH: 'a' }],
    [{ command: 'x', cwd: '${AUTH}' }, { AUTH: 'b' }],
  ],
  [
    'a variable of the environment',
    env('TO', '${TARGET}', { TARGET: 'good' }),
    env('TO', '${TARGET}', { TARGET: 'evil' }),
  ],
  ['the default of a variable of the environment', env('TO', '${TARGET:-good}'), env('TO', '${TARGET:-evil}')],
  [
    'an input in the environment',
    env('TO', '${input:what}', { TOOLYARD_INPUT_WHAT: 'good' }),
    env('TO', '${input:what}', { TOOLYARD_INPUT_WHAT: 'evil' }),
  ],
  ['a text of the environment beside a token', env('TO', json('good')), env('TO', json('evil'))],
  [
    'a variable of the environment beside a token',
    env('TO', '${TARGET}', { TARGET: json('good') }),
    env('TO', '${TARGET}', { TARGET: json('evil') }),
  ],
  ['AUTH_URL in the environment', env('AUTH_URL', '${X}', { X: good }), env('AUTH_URL', '${X}', { X: evil })],
  [
    'the name of a secret in the environment',
    env('API_KEY', '${ONE}', { ONE: 'same-value' }),
    env('API_KEY', '${TWO}', { TWO: 'same-value' }),
  ],
  [
    'a header',
    [{ url: good, headers: { 'X-Tenant': '${T}' } }, { T: 'a' }],
    [{ url: good, headers: { 'X-Tenant': '${T}' } }, { T: 'b' }],
  ],
  [
    'the issuer of a client',
    [{ url: good, oauth: { client_id: 'a', issuer: '${ISSUER}' } }, { ISSUER: good }],
    [{ url: good, oauth: { client_id: 'a', issuer: '${ISSUER}' } }, { ISSUER: evil }],
  ],
  [
    'a client',
    [{ url: good, oauth: { client_id: '${CLIENT}' } }, { CLIENT: 'a' }],
    [{ url: good, oauth: { client_id: '${CLIENT}' } }, { CLIENT: 'b' }],
  ],
]

const WRITTEN_OUT: readonly (readonly [what: string, before: Side, after: Side])[] = [
  ['a parameter key', url(`${good}/mcp?key=projectA`), url(`${good}/mcp?key=projectB`)],
  ['a parameter session', url(`${good}/mcp?session=stagingA`), url(`${good}/mcp?session=productB`)],
  ['a key of the URL', url(`${good}/mcp?api_key=abcdefgh12`), url(`${good}/mcp?api_key=ijklmnop12`)],
  ['a password', url('https://u:passw0rd@good.example/mcp'), url('https://u:passw1rd@good.example/mcp')],
  ['a key in a command', args('API_KEY=abcdefgh1 exec node x'), args('API_KEY=ijklmnop2 exec node x')],
  ['a token in a command', args(`export GH=${TOKEN}; exec node x`), args(`export GH=${OTHER_TOKEN}; exec node x`)],
  ['a password in JSON', args(json('x', 'abcdefgh')), args(json('x', 'ijklmnop'))],
  ['a password of a database', args('postgresql://app:hunter22@db/a'), args('postgresql://app:hunter33@db/a')],
  ['a literal API_KEY', env('API_KEY', 'abcdefgh'), env('API_KEY', 'ijklmnop')],
  [
    'a cookie',
    [{ url: good, headers: { Cookie: 'account=acme12345' } }],
    [{ url: good, headers: { Cookie: 'account=evil12345' } }],
  ],
  ['the default of a secret', env('API_KEY', '${NONE:-first}'), env('API_KEY', '${NONE:-second}')],
]

const VARIABLES: readonly (readonly [what: string, before: Side, after: Side])[] = [
  ...(['command', 'cwd'] as const).map(
    (place) =>
      [
        `the ${place} in a file`,
        [{ command: 'node', [place]: `\${${SOURCED}}` }, { [SOURCED]: 'good' }],
        [{ command: 'node', [place]: `\${${SOURCED}}` }, { [SOURCED]: 'evil' }],
      ] as const,
  ),
  [
    'the script in a file',
    args(`\${${SOURCED}}`, { [SOURCED]: './good.js' }),
    args(`\${${SOURCED}}`, { [SOURCED]: './evil.js' }),
  ],
  [
    'a token that a shell makes something else of',
    args('X="${API_TOKEN}" exec node', { API_TOKEN: 'abc' }),
    args('X="${API_TOKEN}" exec node', { API_TOKEN: '$(touch x)' }),
  ],
  ...['PROJECT_KEY', 'PARTITION_KEY', 'ACCOUNT_PIN', 'SIG', 'PASS'].flatMap((name) => {
    const [one, other] = [{ [name]: 'ALPHA1' }, { [name]: 'OMEGA1' }]
    const places: readonly (readonly [string, (values: Environment) => Side])[] = [
      ['the path', (values) => url(`${good}/\${${name}}`, values)],
      ['the query', (values) => url(`${good}/?key=\${${name}}`, values)],
      ['an argument', (values) => args(`--project=\${${name}}`, values)],
      ['the environment', (values) => env(name, `\${${name}}`, values)],
      ['a header', (values) => [{ url: good, headers: { 'X-Project': `\${${name}}` } }, values]],
    ]
    return places.map(([place, side]) => [`${name} in ${place}`, side(one), side(other)] as const)
  }),
  [
    'an input named like a key',
    args('${input:project-key}', { TOOLYARD_INPUT_PROJECT_KEY: '1' }),
    args('${input:project-key}', { TOOLYARD_INPUT_PROJECT_KEY: '2' }),
  ],
  [
    'a second parameter in the value of a token',
    url(`${good}/?token=\${ONE}`, { ONE: 'x&account=a' }),
    url(`${good}/?token=\${ONE}`, { ONE: 'x&account=b' }),
  ],
  [
    'a command in the value of a token',
    args('API_KEY=${ONE} exec node', { ONE: 'x; good' }),
    args('API_KEY=${ONE} exec node', { ONE: 'x; evil' }),
  ],
]

const LEFT_OUT: readonly (readonly [what: string, before: Side, after: Side])[] = [
  [
    'a variable of a parameter named like a secret',
    url(`${good}/?api_key=\${ONE}`, { ONE: 'first/value' }),
    url(`${good}/?api_key=\${ONE}`, { ONE: 'second' }),
  ],
  [
    'a variable of the password of a database',
    args('--db=postgresql://app:${ONE}@db/a', { ONE: 'first' }),
    args('--db=postgresql://app:${ONE}@db/a', { ONE: 'second' }),
  ],
  ...['Authorization: Bearer ${ONE}', '--token=${ONE}', '{"password":"${ONE}"}', 'API_KEY=${ONE} exec node'].map(
    (text) => [`a variable in ${text}`, args(text, { ONE: 'first' }), args(text, { ONE: 'second' })] as const,
  ),
  ...['Authorization', 'Cookie', 'X-Api-Key'].map(
    (name) =>
      [
        `a variable of the header ${name}`,
        [{ url: good, headers: { [name]: 'Bearer ${ONE}' } }, { ONE: 'a' }],
        [{ url: good, headers: { [name]: 'Bearer ${ONE}' } }, { ONE: 'b' }],
      ] as const,
  ),
  [
    'a variable of a password',
    url('https://u:${ONE}@good.example/', { ONE: 'first' }),
    url('https://u:${ONE}@good.example/', { ONE: 'second' }),
  ],
  [
    'the path of a stored secret',
    url(`\${${SOURCED}}`, { [SOURCED]: `${good}/a` }),
    url(`\${${SOURCED}}`, { [SOURCED]: `${good}/b` }),
  ],
  [
    'a secret in an argument',
    args('--token=${BANK_API_KEY}', { BANK_KEY: 'first' }),
    args('--token=${BANK_API_KEY}', { BANK_KEY: 'second' }),
  ],
  [
    'a stored secret in an argument',
    args(`\${${SOURCED}}`, { [SOURCED]: 'one' }),
    args(`\${${SOURCED}}`, { [SOURCED]: 'two' }),
  ],
  [
    'a secret of the environment',
    env('TO', '${BANK_TOKEN}', { BANK_TOKEN: 'a/b c' }),
    env('TO', '${BANK_TOKEN}', { BANK_TOKEN: 'other' }),
  ],
  ['a variable of API_KEY', env('API_KEY', '${BANK}', { BANK: 'a/b c' }), env('API_KEY', '${BANK}', { BANK: 'other' })],
  [
    'an input that is a password',
    args('${input:pin-of-it}', { TOOLYARD_INPUT_PIN_OF_IT: '1' }),
    args('${input:pin-of-it}', { TOOLYARD_INPUT_PIN_OF_IT: '2' }),
  ],
  [
    'an input named like a secret',
    args('${input:api-key}', { TOOLYARD_INPUT_API_KEY: '1' }),
    args('${input:api-key}', { TOOLYARD_INPUT_API_KEY: '2' }),
  ],
  [
    'the secret of a client',
    [{ url: good, oauth: { client_id: 'a', client_secret: '${ONE}' } }, { ONE: 'a' }],
    [{ url: good, oauth: { client_id: 'a', client_secret: '${ONE}' } }, { ONE: 'b' }],
  ],
]

describe('the identity of an MCP server', () => {
  test.each([...COUNTS, ...VARIABLES])('contains %s', (_what, before, after) => {
    expect(identity(before)).not.toBe(identity(after))
  })

  test.each(WRITTEN_OUT)('contains %s that is written out', (_what, before, after) => {
    expect(identity(before)).not.toBe(identity(after))
  })

  test.each(LEFT_OUT)('leaves out %s', (_what, before, after) => {
    expect(identity(before)).toBe(identity(after))
  })

  test('is the same on machines with other folders', () => {
    const config = { mcpServers: { one: { command: '${workspaceFolder}/run', cwd: '${workspaceFolder}/a' } } } as Config
    const [first, second] = ['/one', '/two'].map((folder) => readMcpServers(config, {}, folder).servers[0]?.identity)
    expect(first).toEqual(second)
  })
})
