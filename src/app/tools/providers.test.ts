import { describe, expect, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import { ModelError } from '../../models/model-error.ts'
import type { ProviderSettings } from '../../models/provider.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { buildProviders } from './providers.ts'

async function build(providers: Config['providers'], env: Record<string, string> = {}) {
  const log = captureLog()
  const settings: ProviderSettings[] = []
  const built = await buildProviders(providers, {
    env,
    log,
    create: async (one) => {
      if (one.type === 'anthropic') throw new ModelError('It has no key.')
      if (one.type === 'mini' && env.BARE !== undefined) throw new ModelError('npm install it')
      if (one.type === 'gemini') throw new TypeError('A mistake of ours')
      settings.push(one)
      return { name: one.name, model: (name) => ({ id: `${one.name}:${name}`, stream: async function* () {} }) }
    },
  })
  const said = (name: string) => {
    const events = built
      .find((one) => one.name === name)
      ?.model('x')
      .stream({ messages: [], tools: [] })
    return events?.[Symbol.asyncIterator]()
      .next()
      .catch((error: unknown) => error)
  }
  return { settings, said, log, names: built.map(({ name }) => name) }
}

describe('buildProviders', () => {
  test('replaces ${VAR} in address, key and headers, and uses the name as default type', async () => {
    const { settings, log } = await build(
      {
        openai: { api_key: '${KEY}' },
        office: {
          type: 'openai',
          base_url: 'http://${HOST}:${PORT}/v1',
          headers: { Authorization: 'Bearer ${KEY}' },
          timeout_ms: 9,
          api: 'chat',
        },
      },
      { KEY: 'k-1\n', HOST: 'h', PORT: '1' },
    )
    expect(settings).toEqual([
      { name: 'openai', type: 'openai', api_key: 'k-1' },
      {
        name: 'office',
        type: 'openai',
        base_url: 'http://h:1/v1',
        headers: { Authorization: 'Bearer k-1' },
        timeout_ms: 9,
        api: 'chat',
      },
      { name: 'mini', type: 'mini' },
    ])
    expect(log.lines).toEqual([])
  })

  test('mini exists without configuration, and can be configured', async () => {
    expect((await build(undefined)).names).toEqual(['mini'])
    expect((await build({ mini: { timeout_ms: 5 } })).settings).toEqual([{ name: 'mini', type: 'mini', timeout_ms: 5 }])
  })

  test('if its packages are missing mini is disabled, and logged only if it is configured or the only provider', async () => {
    const bare = { BARE: 'yes' }
    const alone = await build({}, bare)
    expect(alone.log.at('warn')).toMatchObject([{ provider: 'mini', problem: 'npm install it' }])
    expect((await build({ ollama: {}, mini: {} }, bare)).log.at('warn')).toHaveLength(1)
    const beside = await build({ ollama: {} }, bare)
    expect(beside.log.lines).toEqual([])
    expect(await beside.said('mini')).toEqual(new ModelError('npm install it', { status: 503 }))
  })

  test('an unset variable is logged once and disables only that provider', async () => {
    const { log, said, settings } = await build(
      { openai: { api_key: '${OPENAI_API_KEY}' }, ollama: {} },
      { OPENAI_API_KEY: ' ' },
    )
    const problem =
      'Provider openai is disabled: the environment variable OPENAI_API_KEY is not set. Set it, or change providers.openai.'
    expect(log.lines).toEqual([
      {
        level: 'warn',
        message: 'Provider disabled',
        fields: { provider: 'openai', place: 'providers.openai', problem },
      },
    ])
    expect(await said('openai')).toEqual(new ModelError(problem, { status: 503 }))
    expect(settings.map(({ name }) => name)).toEqual(['ollama', 'mini'])
  })

  test('lists several missing variables once each', async () => {
    const { log } = await build({ openai: { api_key: '${A}', headers: { x: '${B}${A}' } } })
    expect(log.at('warn')).toMatchObject([
      { problem: expect.stringContaining('the environment variables A, B are not set. Set them') },
    ])
  })

  test("a client that can't be created disables the provider with a reason", async () => {
    const { log, said, names } = await build({ anthropic: {}, ollama: {} })
    expect(log.at('warn')).toEqual([{ provider: 'anthropic', place: 'providers.anthropic', problem: 'It has no key.' }])
    expect(await said('anthropic')).toEqual(new ModelError('It has no key.', { status: 503 }))
    expect(names).toEqual(['anthropic', 'ollama', 'mini'])
  })

  test('rethrows other errors', async () => {
    await expect(build({ gemini: {} })).rejects.toThrow('A mistake of ours')
  })

  test('an invalid address from a variable disables the provider and is not shown', async () => {
    const { log } = await build({ ollama: { base_url: '${HOST}/v1' } }, { HOST: 'user:hidden' })
    expect(log.at('warn')).toMatchObject([{ problem: expect.stringContaining("isn't an http or https address") }])
    expect(JSON.stringify(log.lines)).not.toContain('hidden')
  })

  test('a key in the file works with a warning and is never shown', async () => {
    const { log, settings } = await build({
      openai: { api_key: 'literal-key', headers: { 'x-api-key': 'literal-key', 'x-team': 'blue' } },
    })
    expect(log.at('warn').map(({ place }) => place)).toEqual([
      'providers.openai.api_key',
      'providers.openai.headers.x-api-key',
    ])
    expect(JSON.stringify(log.lines)).not.toContain('literal-key')
    expect(settings[0]?.api_key).toBe('literal-key')
  })
})
