import { describe, expect, test } from 'vitest'
import { curlSecrets, curlTool } from './curl-command.ts'
import { shellWords } from './shell-words.ts'

const propose = (command: string, taken: readonly string[] = []) => curlTool(command, taken)

describe('words of a shell', () => {
  test.each([
    [`curl 'a b' "c d" e\\ f`, ['curl', 'a b', 'c d', 'e f']],
    [`curl \\\n  -H 'x: y'`, ['curl', '-H', 'x: y']],
    [`curl $'it\\'s \\u00e9\\n' "a\\"b\\n"`, ['curl', "it's é\n", 'a"b\\n']],
    [`curl -H "Authorization: Bearer $TOKEN" "\${A}"`, ['curl', '-H', 'Authorization: Bearer ${TOKEN}', '${A}']],
    ['curl https://a.com/?x=1&y=2', ['curl', 'https://a.com/?x=1&y=2']],
    ["curl ''", ['curl', '']],
  ])('%s', (command, words) => {
    expect(shellWords(command).words).toEqual(words)
  })

  test('ends at a pipe', () => {
    expect(shellWords('curl https://a.com | jq .')).toEqual({ words: ['curl', 'https://a.com'], rest: true })
  })

  test.each([['curl $(id)'], ['curl `id`'], ['curl "$(id)"'], ['curl "`id`"'], ["curl 'a"], ['curl a; rm -rf /']])(
    'refuses %s',
    (command) => {
      expect(() => shellWords(command)).toThrow(/isn't (?:supported|closed)/)
    },
  )

  test('refuses a command for cmd.exe', () => {
    expect(() => shellWords('curl ^"https://a.com^"')).toThrow('copy it as curl for bash')
  })

  test('reads a long command in linear time', () => {
    expect(shellWords(`curl ${'\\\\ '.repeat(20_000)}`).words).toHaveLength(20_001)
    expect(() => shellWords(`curl "${'\\"'.repeat(20_000)}`)).toThrow("isn't closed")
  })
})

test('makes parameters of ids in the path and of the query', () => {
  const { tool } = propose('curl "https://api.example.com/v1/users/42/orders?limit=10&sort=asc&zip=01234&a[]=1"')
  expect(tool).toMatchObject({
    name: 'get_users_orders',
    effect: 'read',
    implementation: {
      type: 'http',
      method: 'GET',
      url: 'https://api.example.com/v1/users/{user_id}/orders',
      params_mapping: { limit: 'limit', sort: 'sort', zip: 'zip', a: 'a[]' },
    },
    parameters: {
      properties: {
        user_id: { type: 'integer', examples: [42] },
        limit: { type: 'integer', examples: [10] },
        sort: { type: 'string', examples: ['asc'] },
        zip: { type: 'string', examples: ['01234'] },
      },
      required: ['user_id'],
    },
  })
})

test('makes parameters of a JSON body', () => {
  const { tool } = propose(
    `curl -X POST https://api.example.com/things/{id} -H 'Content-Type: application/json' -d '{"name":"x","size":1.5,"tags":["a"],"deep":{"on":true}}'`,
  )
  expect(tool).toMatchObject({
    name: 'create_things',
    effect: 'write',
    parameters: {
      properties: {
        id: { type: 'string' },
        name: { type: 'string', examples: ['x'] },
        size: { type: 'number' },
        tags: { type: 'array', items: { type: 'string' } },
        deep: { type: 'object', properties: { on: { type: 'boolean' } } },
      },
      required: ['id', 'name', 'size', 'tags', 'deep'],
    },
    implementation: { method: 'POST', url: 'https://api.example.com/things/{id}' },
  })
  expect(tool.implementation.body).toBeUndefined()
})

test('makes parameters of a form, and one of any other body', () => {
  const form = propose('curl https://a.example.com/pay -d amount=5 -d currency=eur').tool
  expect(form.implementation).toMatchObject({ method: 'POST', body: 'form' })
  expect(form.parameters).toMatchObject({ properties: { amount: { type: 'integer' }, currency: { type: 'string' } } })
  const list = propose(`curl https://a.example.com/pay --json '[1, 2]'`).tool
  expect(list.implementation).toMatchObject({ body_param: 'body' })
  const text = propose(`curl https://a.example.com/pay -H 'content-type: text/plain' -d 'hello world'`).tool
  expect(text.implementation).toMatchObject({ body: 'text', body_param: 'body' })
  const query = propose('curl -G https://a.example.com/find --data-urlencode "q=a b"').tool
  expect(query).toMatchObject({
    implementation: { method: 'GET' },
    parameters: { properties: { q: { examples: ['a b'] } } },
  })
})

describe('secrets', () => {
  test.each([
    [
      `-H 'Authorization: Bearer abc.def'`,
      { type: 'bearer', token: '${secret:EXAMPLE_TOKEN}' },
      [{ name: 'EXAMPLE_TOKEN', value: 'abc.def' }],
    ],
    [
      '-u ada:lovelace',
      { type: 'basic', username: 'ada', password: '${secret:EXAMPLE_PASSWORD}' },
      [{ name: 'EXAMPLE_PASSWORD', value: 'lovelace' }],
    ],
    [
      '-u sk_test_123:',
      { type: 'basic', username: '${secret:EXAMPLE_KEY}', password: '' },
      [{ name: 'EXAMPLE_KEY', value: 'sk_test_123' }],
    ],
    [
      `-H 'Authorization: Basic YTpi'`,
      { type: 'basic', username: 'a', password: '${secret:EXAMPLE_PASSWORD}' },
      [{ name: 'EXAMPLE_PASSWORD', value: 'b' }],
    ],
    [
      `-H 'X-API-Key: k123'`,
      { type: 'api_key', in: 'header', name: 'x-api-key', value: '${secret:EXAMPLE_X_API_KEY}' },
      [{ name: 'EXAMPLE_X_API_KEY', value: 'k123' }],
    ],
  ])('%s', (options, auth, secrets) => {
    const command = `curl https://api.example.com/x ${options}`
    const proposed = propose(command)
    expect(proposed.tool.implementation.auth).toEqual(auth)
    expect(curlSecrets(command, [])).toEqual(secrets)
    expect(proposed.secrets).toEqual(
      secrets.map(({ name }) => ({ name, place: expect.stringContaining('implementation.') })),
    )
    for (const { value } of secrets) if (value.length > 2) expect(JSON.stringify(proposed)).not.toContain(value)
  })

  test('a key in the query, beside another header', () => {
    const { tool } = propose(`curl 'https://api.example.com/x?appid=1&api_key=zzz' -H 'Authorization: Bearer t1'`)
    expect(tool.implementation).toMatchObject({
      auth: { type: 'bearer' },
      query: { api_key: '${secret:EXAMPLE_API_KEY}' },
    })
  })

  test('a variable of the shell stays a variable', () => {
    const { tool, secrets } = propose('curl https://api.example.com/x -H "Authorization: Bearer $TOKEN"')
    expect(tool.implementation.auth).toEqual({ type: 'bearer', token: '${TOKEN}' })
    expect(secrets).toEqual([])
  })

  test('a name that is taken gets a number', () => {
    const { tool } = propose(`curl https://api.example.com -H 'authorization: Bearer t'`, ['EXAMPLE_TOKEN'])
    expect(tool.implementation.auth).toMatchObject({ token: '${secret:EXAMPLE_TOKEN_2}' })
  })

  test('a secret in the body is neither an example nor a constant', () => {
    const { tool, warnings } = propose(
      `curl https://api.example.com/login -d '{"password":"hunter2hunter2","deep":{"token":"abcdef"}}'`,
    )
    expect(JSON.stringify(tool)).not.toMatch(/hunter2|abcdef/)
    expect(warnings).toContainEqual(expect.stringContaining('"password" looks like a secret'))
  })
})

test('leaves out what a browser adds', () => {
  const { tool, warnings } = propose(
    `curl 'https://example.com/api/x' -H 'sec-ch-ua: "x"' -H 'user-agent: Mozilla' -H 'accept: */*' -H 'x-team: a' --compressed`,
  )
  expect(tool.implementation.headers).toEqual({ 'x-team': 'a' })
  expect(warnings).toContainEqual('Headers that a browser adds by itself were left out.')
})

test.each([
  ['wget https://a.com', 'not a curl command'],
  ['curl', 'no URL'],
  ['curl https://a.com https://b.com', 'more than one URL'],
  ['curl file:///etc/passwd', 'not an http or https address'],
  ['curl https://a.com -F file=@x', '--form'],
  ['curl https://a.com -T x', '--upload-file'],
  ['curl https://a.com -d @secrets.json', 'sends a file'],
  ['curl https://a.com -k', 'certificates are always verified'],
  ['curl -X TRACE https://a.com', 'The method "TRACE"'],
  ['curl https://a.com --wrong-option', '--wrong-option'],
  ['curl -X GET https://a.com -d a=1', 'sends a body with GET'],
  [`curl https://a.com -H 'content-type: application/json' -d '{'`, "isn't valid JSON"],
  [`curl https://a.com/${'x'.repeat(100_000)}`, '100,000 characters'],
  [`curl 'https://a.com/?${Array.from({ length: 300 }, (_, at) => `p${at}=1`).join('&')}'`, 'more than 200 parameters'],
])('refuses %s', (command, problem) => {
  expect(() => propose(command)).toThrow(problem)
})

test('parameters are never called like something that every object has', () => {
  const { tool } = propose('curl "https://a.com/x?__proto__=1&constructor=2"')
  expect(Object.keys(Object(tool.parameters).properties)).toEqual(['proto', 'constructor_value'])
})

test('refuses commands with too many words, and user names that cannot be decoded', () => {
  expect(() => curlTool(`curl https://a.example/ ${'-H a:b '.repeat(600)}`, [])).toThrow('more than 1000 words')
  expect(() => curlTool('curl https://a:%zz@a.example/', [])).toThrow('has an invalid "%"')
})
