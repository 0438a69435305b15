import { describe, expect, test } from 'vitest'
import { api, one, refusal, request, swagger } from './fixtures/documents.ts'
import { importOpenapi } from './import-openapi.ts'

const SCHEMES = {
  token: { type: 'http', scheme: 'Bearer' },
  login: { type: 'http', scheme: 'basic' },
  key: { type: 'apiKey', in: 'header', name: 'X-Key' },
  app: { type: 'apiKey', in: 'query', name: 'app_id' },
  session: { type: 'apiKey', in: 'cookie', name: 'sid' },
  machine: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/oauth/token', scopes: {} }, implicit: {} } },
  person: { type: 'oauth2', flows: { authorizationCode: { tokenUrl: 'https://a.example/t' } } },
  connect: { type: 'openIdConnect', openIdConnectUrl: 'https://a.example' },
  digest: { type: 'http', scheme: 'digest' },
  certificate: { type: 'mutualTLS' },
}

type Names = readonly (keyof typeof SCHEMES)[]

/** A document that has only these schemes, and an operation that asks for what it says. */
function secured(security: unknown, names: Names, more: object = {}) {
  const securitySchemes = Object.fromEntries(names.map((name) => [name, SCHEMES[name]]))
  return api(
    { '/a': { get: { operationId: 'a', ...(security !== undefined && { security }), ...more } } },
    { components: { securitySchemes } },
  )
}

describe('a security scheme becomes auth, its secret a variable', () => {
  test.each([
    ['token', { type: 'bearer', token: '${SHOP_EXAMPLE_TOKEN}' }, ['SHOP_EXAMPLE_TOKEN']],
    [
      'login',
      { type: 'basic', username: '${SHOP_EXAMPLE_USERNAME}', password: '${SHOP_EXAMPLE_PASSWORD}' },
      ['SHOP_EXAMPLE_PASSWORD', 'SHOP_EXAMPLE_USERNAME'],
    ],
    [
      'key',
      { type: 'api_key', in: 'header', name: 'X-Key', value: '${SHOP_EXAMPLE_API_KEY}' },
      ['SHOP_EXAMPLE_API_KEY'],
    ],
    [
      'app',
      { type: 'api_key', in: 'query', name: 'app_id', value: '${SHOP_EXAMPLE_API_KEY}' },
      ['SHOP_EXAMPLE_API_KEY'],
    ],
    [
      'machine',
      {
        type: 'oauth2',
        token_url: 'https://shop.example/oauth/token',
        client_id: '${SHOP_EXAMPLE_CLIENT_ID}',
        client_secret: '${SHOP_EXAMPLE_CLIENT_SECRET}',
        scope: 'read write',
      },
      ['SHOP_EXAMPLE_CLIENT_ID', 'SHOP_EXAMPLE_CLIENT_SECRET'],
    ],
    ['person', { type: 'bearer', token: '${SHOP_EXAMPLE_TOKEN}' }, ['SHOP_EXAMPLE_TOKEN']],
    ['connect', { type: 'bearer', token: '${SHOP_EXAMPLE_TOKEN}' }, ['SHOP_EXAMPLE_TOKEN']],
  ] as const)('%s', (name, auth, variables) => {
    const { http, report } = one(secured([{ [name]: ['read', 'write'] }], [name]))
    expect(http.auth).toEqual(auth)
    expect(report.variables).toEqual(variables)
  })

  test('a flow that a person must go through is noted', () => {
    expect(one(secured([{ person: [] }], ['person'])).notes).toEqual([
      'a token of "person" (OAuth 2) must be in ${SHOP_EXAMPLE_TOKEN}: tools do not log in',
    ])
    expect(one(secured([{ connect: [] }], ['connect'])).notes).toEqual([expect.stringContaining('OpenID Connect')])
  })

  test('a key in a cookie is sent there, and noted', () => {
    const { tool, notes } = one(secured([{ session: [] }], ['session']))
    expect(request(tool, {}, { SHOP_EXAMPLE_API_KEY: 'secret-1' }).headers.cookie).toBe('sid=secret-1')
    expect(notes).toEqual(['the key "session" is sent in a cookie, which most APIs give only to browsers'])
  })

  test.each([
    ['digest', '"digest" is HTTP authentication of the kind "digest"'],
    ['certificate', '"certificate" is a client certificate'],
  ] as const)('%s is refused', (name, reason) => {
    expect(refusal(secured([{ [name]: [] }], [name]))).toBe(`it requires credentials that tools cannot send: ${reason}`)
  })

  test('rejects an unknown scheme', () => {
    expect(refusal(secured([{ gone: [] }], []))).toContain('"gone" is not a security scheme of the document')
  })
})

describe('the security of an operation', () => {
  test('the first alternative that can be done', () => {
    const { http } = one(
      secured(
        [{ digest: [] }, { certificate: [] }, { key: [] }, { token: [] }],
        ['digest', 'certificate', 'key', 'token'],
      ),
    )
    expect(http.auth?.type).toBe('api_key')
  })

  test('none if it is optional or empty', () => {
    const document = { ...secured([], ['token']), security: [{ token: [] }] }
    expect(one(document).http.auth).toBeUndefined()
    expect(one(secured([{}, { token: [] }], ['token'])).http.auth).toBeUndefined()
  })

  test('that of the document by default', () => {
    expect(one({ ...secured(undefined, ['token']), security: [{ token: [] }] }).http.auth?.type).toBe('bearer')
  })

  test('several at once: one as auth, further keys as headers and query', () => {
    const { tool, http, report } = one(secured([{ key: [], app: [], token: [] }], ['key', 'app', 'token']))
    expect(http.auth).toEqual({ type: 'bearer', token: '${SHOP_EXAMPLE_TOKEN}' })
    expect(http.headers).toEqual({ 'x-key': '${SHOP_EXAMPLE___KEY_API_KEY}' })
    expect(http.query).toEqual({ app_id: '${SHOP_EXAMPLE___APP_API_KEY}' })
    expect(report.variables).toEqual(['SHOP_EXAMPLE_TOKEN', 'SHOP_EXAMPLE___APP_API_KEY', 'SHOP_EXAMPLE___KEY_API_KEY'])
    const sent = request(
      tool,
      {},
      { SHOP_EXAMPLE_TOKEN: 'token-1', SHOP_EXAMPLE___KEY_API_KEY: 'key-12', SHOP_EXAMPLE___APP_API_KEY: 'app-12' },
    )
    expect(sent.path).toBe('/v1/a?app_id=app-12')
    expect(sent.headers['x-key']).toBe('key-12')
  })

  test('but not two that both want the same header', () => {
    expect(refusal(secured([{ login: [], token: [] }], ['login', 'token']))).toContain(
      'two kinds of authorization at once',
    )
  })

  test('nor a key in the header that another scheme needs: the next alternative is taken', () => {
    const securitySchemes = { ...SCHEMES, raw: { type: 'apiKey', in: 'header', name: 'Authorization' } }
    const asking = (security: object[]) =>
      api({ '/a': { get: { operationId: 'a', security } } }, { components: { securitySchemes } })
    expect(refusal(asking([{ login: [], raw: [] }]))).toContain('two kinds of authorization at once')
    expect(one(asking([{ login: [], raw: [] }, { raw: [] }])).http.auth).toMatchObject({ name: 'Authorization' })
  })

  test('two that are both a token are one, as no request has two', () => {
    const { http, notes, report } = one(secured([{ person: [], connect: [] }], ['person', 'connect']))
    expect(http.auth).toEqual({ type: 'bearer', token: '${SHOP_EXAMPLE___PERSON_TOKEN}' })
    expect(report.variables).toEqual(['SHOP_EXAMPLE___PERSON_TOKEN'])
    expect(notes).toEqual([
      'a token of "person" (OAuth 2) must be in ${SHOP_EXAMPLE___PERSON_TOKEN}: tools do not log in',
      'one token is used for several schemes: a request has only one',
    ])
  })

  test('two that mean the same key are one', () => {
    const securitySchemes = { one: SCHEMES.key, other: { ...SCHEMES.key, name: 'x-key' } }
    const get = { operationId: 'a', security: [{ one: [], other: [] }] }
    const { http } = one(api({ '/a': { get } }, { components: { securitySchemes } }))
    expect(http.auth).toMatchObject({ type: 'api_key', in: 'header', name: 'X-Key' })
    expect(http.headers).toBeUndefined()
  })

  test('a parameter that is the key itself is left out', () => {
    const parameters = [{ name: 'x-key', in: 'header', schema: { type: 'string' } }]
    const { properties, notes } = one(secured([{ key: [] }], ['key'], { parameters }))
    expect(properties).toEqual({})
    expect(notes).toEqual(['the header parameter "x-key" is left out: the definition sends it already'])
  })
})

describe('the names of variables', () => {
  const variables = (url: string, prefix = '') =>
    importOpenapi({ ...secured([{ token: [] }], ['token']), info: { title: 'OpenAI' }, servers: [{ url }] }, { prefix })
      .variables

  test.each([
    ['https://api.pets.example/v1', '', 'API_PETS_EXAMPLE_TOKEN'],
    ['https://api.pets.example:8443', 'openai', 'API_PETS_EXAMPLE_TOKEN'],
    ['https://api-pets.example', '', 'API__PETS_EXAMPLE_TOKEN'],
    ['https://api_pets.example', '', 'API__PETS_EXAMPLE_TOKEN'],
    ['https://Bücher.example', '', 'XN____BCHER__KVA_EXAMPLE_TOKEN'],
    ['http://openai', '', 'API_OPENAI_TOKEN'],
    ['http://192.0.2.1', '', 'API_192_0_2_1_TOKEN'],
    [`https://${'x'.repeat(60)}.pets.example`, '', `${'X'.repeat(27)}_PETS_EXAMPLE___DC41698B_TOKEN`],
  ])('name the host of %j, whatever the title and the prefix are', (url, prefix, variable) => {
    expect(variables(url, prefix)).toEqual([variable])
  })

  test('are others for each host: one gets no secret of another', () => {
    const token = { security: [{ token: [] }] }
    const paths = {
      '/a': { get: { operationId: 'a', ...token } },
      '/b': { get: { operationId: 'b', ...token, servers: [{ url: 'https://evil.example' }] } },
      '/c': { get: { operationId: 'c', security: [{ machine: [] }] } },
    }
    const machine = { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://login.example/token' } } }
    const securitySchemes = { token: SCHEMES.token, machine }
    expect(importOpenapi(api(paths, { components: { securitySchemes } })).variables).toEqual([
      'EVIL_EXAMPLE_TOKEN',
      'LOGIN_EXAMPLE_CLIENT_ID',
      'LOGIN_EXAMPLE_CLIENT_SECRET',
      'SHOP_EXAMPLE_TOKEN',
    ])
  })

  test('no scheme makes the name of another host', () => {
    const evil = { UK: SCHEMES.token, other: SCHEMES.token }
    const get = { operationId: 'a', security: [{ UK: [] }] }
    const more = { components: { securitySchemes: evil }, servers: [{ url: 'https://bank.co' }] }
    expect(variables('https://bank.co.uk')).toEqual(['BANK_CO_UK_TOKEN'])
    expect(importOpenapi(api({ '/a': { get } }, more)).variables).toEqual(['BANK_CO___UK_TOKEN'])
  })

  test('differ for long hosts with the same end', () => {
    const [one, other] = ['a', 'b'].map((start) => variables(`https://${start}${'x'.repeat(60)}.example`))
    expect(one).not.toEqual(other)
  })

  test('contain the scheme if two would be equal', () => {
    const securitySchemes = { 'api-key': SCHEMES.key, api_key: SCHEMES.app, other: { ...SCHEMES.app, name: 'o' } }
    const get = { operationId: 'a', security: [{ 'api-key': [], api_key: [], other: [] }] }
    const { variables: found } = importOpenapi(api({ '/a': { get } }, { components: { securitySchemes } }))
    expect(found).toHaveLength(3)
    expect(found).toContain('SHOP_EXAMPLE___OTHER_API_KEY')
    for (const name of found) expect(name).toMatch(/^[A-Z_][A-Z0-9_]*$/)
  })
})

describe('a hostile document cannot read other variables', () => {
  test.each([
    [
      'a key called so',
      {
        components: { securitySchemes: { k: { type: 'apiKey', in: 'query', name: '${HOME}' } } },
        security: [{ k: [] }],
      },
    ],
    [
      'a token URL',
      {
        components: {
          securitySchemes: {
            k: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://evil.example/${HOME}' } } },
          },
        },
        security: [{ k: [] }],
      },
    ],
    ['a scope', { components: { securitySchemes: { k: SCHEMES.machine } }, security: [{ k: ['${HOME}'] }] }],
    ['a server', { servers: [{ url: 'https://evil.example/${HOME}' }] }],
    ['a server variable', { servers: [{ url: 'https://evil.example/{v}', variables: { v: { default: '${HOME}' } } }] }],
  ])('%s', (_, more) => {
    const report = importOpenapi(api({ '/a': { get: { operationId: 'a' } } }, more))
    expect(JSON.stringify(report.definitions)).not.toContain('${HOME}')
    expect(report.refused).toHaveLength(1)
  })

  test.each(['/x/${HOME}', '/x?h=${HOME}'])('the path %s', (path) => {
    expect(refusal(api({ [path]: { get: {} } }))).toContain('"${", which means an environment variable')
  })

  test('a parameter', () => {
    const parameters = [{ name: '${HOME}', in: 'query', schema: {} }]
    expect(refusal(api({ '/a': { get: { parameters } } }))).toBe(
      'its parameter "${HOME}" has a name that cannot be sent',
    )
  })

  test('media types', () => {
    const post = {
      requestBody: { content: { 'text/${HOME}': {} } },
      responses: { 200: { content: { 'text/${HOME}': {} } } },
    }
    expect(JSON.stringify(importOpenapi(api({ '/a': { post } })).definitions)).not.toContain('HOME')
    expect(one(api({ '/a': { get: { responses: post.responses } } })).http.headers).toBeUndefined()
  })
})

test('Swagger 2 has the same schemes in other words', () => {
  const securityDefinitions = {
    b: { type: 'basic' },
    k: { type: 'apiKey', in: 'header', name: 'X-Key' },
    o: { type: 'oauth2', flow: 'application', tokenUrl: 'https://a.example/t', scopes: {} },
    c: { type: 'oauth2', flow: 'accessCode', tokenUrl: 'https://a.example/t', scopes: {} },
  }
  const auth = (name: string) =>
    one(swagger({ '/a': { get: { security: [{ [name]: [] }] } } }, { securityDefinitions })).http.auth
  expect(['b', 'k', 'o', 'c'].map((name) => auth(name)?.type)).toEqual(['basic', 'api_key', 'oauth2', 'bearer'])
  expect(auth('o')).toMatchObject({ token_url: 'https://a.example/t' })
})
