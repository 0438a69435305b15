import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { isolated } from '../kinds/tool-handlers.ts'
import { fromAiSdk } from './ai-sdk.ts'
import {
  approvalOf,
  CHANGED,
  here,
  listen,
  mock,
  newFolder,
  notify,
  open,
  type Setting,
} from './fixtures/approving-yard.ts'
import { tool } from './tool.ts'

const SERVER = new URL('../kinds/fixtures/mcp-traced-server.ts', import.meta.url).pathname
const RUN_TS = ['--conditions=toolyard-source', SERVER]

const http = (implementation: object, more: object = {}): Partial<ToolDefinition> => ({
  name: 'pay',
  approval: true,
  implementation: { type: 'http', method: 'POST', ...implementation },
  ...more,
})

const code = (execute: () => unknown, version?: string): Setting => ({
  tools: [
    tool({
      ...{ name: 'pay', description: 'Pays.', input: { type: 'object' }, approval: true, execute },
      ...(version !== undefined && { version }),
    }),
  ],
})

const aiSdk = (execute: () => string) =>
  fromAiSdk(
    { pay: { description: 'Pays.', inputSchema: z.object({ n: z.number() }), execute } },
    { pay: { approval: true } },
  )

const mcp = (args: readonly string[], env: object = {}): Setting => ({
  registry: [{ name: 'pay', approval: true, implementation: { type: 'mcp', server: 'bank', tool: 'echo' } }],
  config: { mcpServers: { bank: { command: process.execPath, args: [...RUN_TS, ...args], env } } } as Config,
})

const pipeline = (url: string, steps = ['notify'], more: object = {}): Setting => ({
  registry: [
    { ...notify(url), ...more },
    {
      name: 'pay',
      approval: true,
      implementation: { type: 'pipeline', steps: steps.map((name, at) => ({ id: `s${at}`, tool: name })) },
    },
  ],
})
const agent = (url: string, more: object = {}): Setting => ({
  registry: [
    notify(url),
    {
      name: 'pay',
      approval: true,
      implementation: { type: 'agent', model: 'none:none', prompt: 'Pay', tools: ['notify'], ...more },
    },
  ],
})
const migrating = (to: string) => ({ version: '2.0.0', migrate: [{ from: '1.0.0', defaults: { to } }] })
const remote = {
  name: 'pay',
  approval: true,
  implementation: { type: 'agent', model: 'm', url: '${TOKEN_SERVICE}/pay' },
}

const defaulting = (to: string) => ({ parameters: { type: 'object', properties: { to: { default: to } } } })

const CHANGES: readonly (readonly [what: string, before: Setting, after: Setting])[] = [
  ['the URL', { registry: [http({ url: `${here}/a` })] }, { registry: [http({ url: `${here}/b` })] }],
  [
    'a variable of the URL',
    { registry: [http({ url: '${BASE}/a' })], env: { BASE: here } },
    { registry: [http({ url: '${BASE}/a' })], env: { BASE: 'http://127.0.0.1:2' } },
  ],
  [
    'the method',
    { registry: [http({ url: here }, { effect: 'write' })] },
    { registry: [http({ url: here, method: 'DELETE' }, { effect: 'write' })] },
  ],
  [
    'the value of a header',
    { registry: [http({ url: here, headers: { 'x-account': '${ACCOUNT}' } })], env: { ACCOUNT: 'ours' } },
    { registry: [http({ url: here, headers: { 'x-account': '${ACCOUNT}' } })], env: { ACCOUNT: 'theirs' } },
  ],
  [
    'the name of a secret',
    { registry: [http({ url: here, auth: { type: 'bearer', token: '${ONE}' } })], env: { ONE: 'same-value' } },
    { registry: [http({ url: here, auth: { type: 'bearer', token: '${TWO}' } })], env: { TWO: 'same-value' } },
  ],
  [
    'a variable whose name only looks like that of a secret',
    { registry: [http({ url: `${here}/\${PROJECT_KEY}` })], env: { PROJECT_KEY: 'ALPHA1' } },
    { registry: [http({ url: `${here}/\${PROJECT_KEY}` })], env: { PROJECT_KEY: 'OMEGA1' } },
  ],
  [
    'a text that only looks like a secret',
    { registry: [http({ url: `${here}/?key=tmpfile1` })] },
    { registry: [http({ url: `${here}/?key=payroll1` })] },
  ],
  ['the arguments of a command', mcp(['--one']), mcp(['--other'])],
  ['a command beside a secret', mcp(['API_KEY=abcdefgh1 first']), mcp(['API_KEY=abcdefgh1 other'])],
  [
    'the address in a variable named like a secret',
    { registry: [http({ url: '${AUTH_URL}/a' })], env: { AUTH_URL: here } },
    { registry: [http({ url: '${AUTH_URL}/a' })], env: { AUTH_URL: 'http://127.0.0.1:2' } },
  ],
  [
    'the address of a remote agent',
    { registry: [remote], env: { TOKEN_SERVICE: here } },
    { registry: [remote], env: { TOKEN_SERVICE: 'http://127.0.0.1:2' } },
  ],
  [
    'a variable of the environment of a command',
    { ...mcp([], { TO: '${TARGET}' }), env: { TARGET: 'staging' } },
    { ...mcp([], { TO: '${TARGET}' }), env: { TARGET: 'production' } },
  ],
  [
    'a migration of the tool of a step',
    pipeline(here, ['notify'], migrating('bob')),
    pipeline(here, ['notify'], migrating('eve')),
  ],
  ['the environment of a command', mcp([], { PAY_URL: here }), mcp([], { PAY_URL: 'http://127.0.0.1:2' })],
  ['the code', code(() => 'paid'), code(() => 'paid twice')],
  ['the code of an AI SDK tool', { tools: aiSdk(() => 'paid') }, { tools: aiSdk(() => 'paid twice') }],
  [
    'the code of a handler',
    {
      registry: [{ name: 'pay', approval: true, implementation: { type: 'internal', handler: 'pay' } }],
      handlers: { pay: () => 1 },
    },
    {
      registry: [{ name: 'pay', approval: true, implementation: { type: 'internal', handler: 'pay' } }],
      handlers: { pay: () => 2 },
    },
  ],
  ['the steps of a pipeline', pipeline(here), pipeline(here, ['notify', 'notify'])],
  ['the tool of a step', pipeline(here), pipeline(`${here}/other`)],
  ['the prompt of an agent', agent(here), agent(here, { prompt: 'Pay twice' })],
  ['a tool of an agent', agent(here), agent(`${here}/other`)],
  ['the kind', mock('paid'), code(() => 'paid')],
  ['the parameters', mock('paid'), mock('paid', { parameters: { type: 'object', properties: { to: {} } } })],
  ['the default of a parameter', mock('paid', defaulting('ann')), mock('paid', defaulting('eve'))],
  ['the effect', mock('paid'), mock('paid', { effect: 'write' })],
]

describe.each(CHANGES)('if %s changes', (_what, before, after) => {
  test('a pending call can not be approved, an approved one does not run, and both can be asked for again', async () => {
    const folder = await newFolder()
    const first = await open(folder, before)
    const [pending, approved] = [await first.ask('pay', { n: 1 }), await first.ask('pay', { n: 2 })]
    await first.approve(approved)
    expect([await first.shown(pending), await first.shown(approved)]).toEqual([null, null])
    await first.installation.close()

    const second = await open(folder, after)
    const changed = expect.stringContaining(CHANGED)
    expect([await second.shown(pending), await second.shown(approved)]).toEqual([changed, changed])
    await expect(second.approve(pending)).rejects.toMatchObject({ code: 'conflict', message: changed })
    for (const [id, n] of [[pending, 1] as const, [approved, 2] as const]) {
      const refused = await second.call('pay', id, { n })
      expect(refused).toMatchObject({ error_code: 'PERMISSION_DENIED', error: changed })
      const again = await second.ask('pay', { n })
      expect([pending, approved]).not.toContain(again)
      expect(await second.approve(again)).toMatchObject({ status: 'approved', changed: null })
    }
  })
})

test('if the version changes, an approved call is refused, and one with other parameters is for another call', async () => {
  const folder = await newFolder()
  const first = await open(folder, mock('paid', { version: '1.0.0' }))
  const id = await first.ask('pay', { n: 1 })
  await first.approve(id)
  expect(await first.call('pay', id, { n: 2 })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  await first.installation.close()
  const second = await open(folder, mock('paid', { version: '1.0.1' }))
  const changed = { error_code: 'PERMISSION_DENIED', error: expect.stringContaining(CHANGED) }
  expect(await second.call('pay', id, { n: 1 })).toMatchObject(changed)
  expect(await second.ask('pay', { n: 1 })).not.toBe(id)
})

const paid = vi.fn(() => 'paid')
const TOKEN = { type: 'bearer', token: '${BANK}' }
const TWO = { a: mock('a').registry?.[0], b: { ...mock('b').registry?.[0], name: 'other' } }
const SAME: readonly (readonly [what: string, before: (url: string) => Setting, after: (url: string) => Setting])[] = [
  ['nothing', (url) => ({ registry: [http({ url })] }), (url) => ({ registry: [http({ url })] })],
  [
    'the value of a secret',
    (url) => ({ registry: [http({ url, auth: TOKEN })], env: { BANK: 'first-secret' } }),
    (url) => ({ registry: [http({ url, auth: TOKEN })], env: { BANK: 'second-secret' } }),
  ],
  [
    'a secret in a header and in the path',
    (url) => ({
      registry: [http({ url: `${url}/\${HOOK_TOKEN}`, headers: { Authorization: 'Bearer ${BANK}' } })],
      env: { BANK: 'first-secret', HOOK_TOKEN: 'first-key' },
    }),
    (url) => ({
      registry: [http({ url: `${url}/\${HOOK_TOKEN}`, headers: { Authorization: 'Bearer ${BANK}' } })],
      env: { BANK: 'second-secret', HOOK_TOKEN: 'second-key' },
    }),
  ],
  ['the description', () => mock('paid', { description: 'Pays' }), () => mock('paid', { description: 'Pays now' })],
  [
    'the order of the tools',
    () => ({ registry: [TWO.a as Partial<ToolDefinition>, TWO.b] }),
    () => ({ registry: [TWO.b, TWO.a as Partial<ToolDefinition>] }),
  ],
  ['code that has a version', () => code(paid, '1.0.0'), () => code(() => 'paid now', '1.0.0')],
  ['the secret of an MCP server', () => mcp([], { BANK_TOKEN: '${BANK}' }), () => mcp([], { BANK_TOKEN: '${BANK}' })],
  ['nothing in a pipeline', pipeline, pipeline],
]

test.each(SAME)('if %s changes, an approved call runs after a restart', async (_what, before, after) => {
  const folder = await newFolder()
  const { url } = await listen()
  const bank = { BANK: 'first-secret' }
  const first = await open(folder, { ...before(url), env: { ...bank, ...before(url).env } })
  const [id, pending] = [await first.ask('pay', { n: 1 }), await first.ask('pay', { n: 2 })]
  await first.approve(id)
  await first.installation.close()
  const second = await open(folder, { ...after(url), env: { BANK: 'second-secret', ...after(url).env } })
  expect(await second.call('pay', id, { n: 1 })).toMatchObject({ success: true })
  expect(await second.approve(pending)).toMatchObject({ status: 'approved', changed: null })
})

test('if an MCP server lists a tool with another schema, its call is asked for again', async () => {
  const folder = await newFolder()
  const script = join(folder, 'bank.ts')
  const list = (parameters: object) => {
    const from = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
    return writeFile(
      script,
      `import { toolyard } from ${from('../core/fixtures/code-yard.ts')}
import { serveStdio } from ${from('../mcp/server/serve-stdio.ts')}
import { ToolServer } from ${from('../mcp/server/tool-server.ts')}
const { registry, executor, add } = toolyard()
add('echo', () => 'paid', { parameters: { type: 'object', properties: ${JSON.stringify(parameters)} } })
const service = serveStdio(new ToolServer({ registry, executor, version: '1' }))
await service.closed
process.exit()`,
    )
  }
  const { registry } = mcp([])
  const command = { command: process.execPath, args: ['--conditions=toolyard-source', script] }
  const setting = { registry: registry ?? [], config: { mcpServers: { bank: command } } as Config }
  await list({})
  const first = await open(folder, setting)
  const [same, id] = [await first.ask('pay', { n: 1 }), await first.ask('pay', { n: 2 })]
  await first.approve(same)
  await first.approve(id)
  await first.installation.close()
  const second = await open(folder, setting)
  expect(await second.call('pay', same, { n: 1 })).toMatchObject({ success: true })
  await second.installation.close()
  await list({ to: { type: 'string' } })
  const third = await open(folder, setting)
  expect(await third.call('pay', id, { n: 2 })).toMatchObject({ error_code: 'PERMISSION_DENIED' })
})

test('if the module of an isolated handler changes, its call is asked for again', async () => {
  const folder = await newFolder()
  const module = join(folder, 'pay.mjs')
  const setting = {
    tools: [
      tool({
        ...{ name: 'pay', description: 'Pays.', input: { type: 'object' }, approval: true },
        execute: isolated(pathToFileURL(module), 'pay'),
      }),
    ],
  }
  await writeFile(module, 'export const pay = () => 1')
  const first = await open(folder, setting)
  const [same, id] = [await first.ask('pay', { n: 1 }), await first.ask('pay', { n: 2 })]
  await first.approve(same)
  await first.approve(id)
  expect(await first.call('pay', same, { n: 1 })).toMatchObject({ success: true, result: 1 })
  await writeFile(module, 'export const pay = () => 2')
  expect(await first.call('pay', id, { n: 2 })).toMatchObject({ error_code: 'PERMISSION_DENIED' })
})

test('two servers with different configurations run what was approved for their own, and ask once each', async () => {
  const folder = await newFolder()
  const { url, requests } = await listen()
  const [former, next] = [
    await open(folder, { registry: [http({ url: `${url}/old` })] }),
    await open(folder, { registry: [http({ url: `${url}/new` })] }),
  ]
  const [old, recent] = [await former.ask('pay'), await next.ask('pay')]
  expect(old).not.toBe(recent)
  await expect(next.approve(old)).rejects.toThrow(CHANGED)
  await former.approve(old)
  await next.approve(recent)
  expect(await next.call('pay', old)).toMatchObject({ error_code: 'PERMISSION_DENIED' })
  expect(await former.call('pay', recent)).toMatchObject({ error_code: 'PERMISSION_DENIED' })
  expect(requests).toEqual([])
  expect(await former.call('pay', old)).toMatchObject({ success: true })
  // Begun on a server, its answer is known on all.
  expect(await next.call('pay', old)).toMatchObject({ success: true })
  expect(await next.call('pay', recent)).toMatchObject({ success: true })
  expect(requests).toEqual(['POST /old', 'POST /new'])
})

test('a caller that repeats its call asks again when the definition has changed', async () => {
  const folder = await newFolder()
  const repeats = { repeats: true }
  const first = await open(folder, mock('paid'))
  const id = approvalOf(await first.call('pay', undefined, {}, repeats))
  await first.approve(id)
  await first.installation.close()
  const second = await open(folder, mock('paid twice'))
  const again = approvalOf(await second.call('pay', undefined, {}, repeats))
  expect(['none', id]).not.toContain(again)
  await second.approve(again)
  expect(await second.call('pay', undefined, {}, repeats)).toMatchObject({ success: true, result: 'paid twice' })
})

test('an approval from before definitions were stored is asked for again', async () => {
  const folder = await newFolder()
  const first = await open(folder, mock('paid'))
  const [pending, approved] = [await first.ask('pay', { n: 1 }), await first.ask('pay', { n: 2 })]
  await first.approve(approved)
  await first.installation.close()
  const database = new DatabaseSync(join(folder, 'toolyard.db'))
  database.exec('UPDATE pauses SET definitions = NULL')
  database.close()
  const second = await open(folder, mock('paid'))
  expect(await second.shown(pending)).toContain(CHANGED)
  await expect(second.approve(pending)).rejects.toThrow(CHANGED)
  expect(await second.call('pay', approved, { n: 2 })).toMatchObject({ error_code: 'PERMISSION_DENIED' })
  expect([pending, approved, 'none']).not.toContain(await second.ask('pay', { n: 1 }))
})

test('an approved call that began returns its answer, whatever the definition is now', async () => {
  const folder = await newFolder()
  const first = await open(folder, mock('paid'))
  const id = await first.ask('pay')
  await first.approve(id)
  await first.call('pay', id)
  await first.installation.close()
  const second = await open(folder, mock('paid twice'))
  expect(await second.call('pay', id)).toMatchObject({ success: true, result: 'paid' })
  expect(await second.shown(id)).toBe(null)
})

test('an approved call that began without an answer does not run with another definition', async () => {
  const folder = await newFolder()
  const first = await open(folder, mock('paid'))
  const id = await first.ask('pay')
  await first.approve(id)
  await first.installation.storage.pauses.begin('local', id, Date.now())
  await first.installation.close()
  const second = await open(folder, mock('paid twice'))
  expect(await second.call('pay', id)).toMatchObject({ error_code: 'PERMISSION_DENIED' })
})

test('parameters that an approver changed are validated again: a rule of the schema may have become stricter', async () => {
  const folder = await newFolder()
  const execute = vi.fn(({ amount }: { amount: number }) => ({ paid: amount }))
  // Equal as JSON Schema, so that the definition is the same.
  const limited = (most: number): Setting => {
    const input = z.object({ amount: z.number().refine((amount) => amount <= most, `At most ${most}`) })
    return { tools: [tool({ name: 'pay', description: 'Pays.', input, approval: true, execute })] }
  }
  const first = await open(folder, limited(1_000))
  const [large, small] = [await first.ask('pay', { amount: 1 }), await first.ask('pay', { amount: 2 })]
  await first.approve(large, { amount: 500 })
  await first.approve(small, { amount: 50 })
  await first.installation.close()
  const second = await open(folder, limited(100))
  expect(await second.call('pay', large, { amount: 1 })).toMatchObject({
    error_code: 'INVALID_PARAMETERS',
    error: expect.stringContaining('At most 100'),
  })
  expect(execute).not.toHaveBeenCalled()
  expect(await second.call('pay', small, { amount: 2 })).toMatchObject({ success: true, result: { paid: 50 } })
})
