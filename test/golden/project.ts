import { mkdtempSync, realpathSync } from 'node:fs'
import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os, { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { PassThrough } from 'node:stream'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { vi } from 'vitest'
import { TextSeal } from '../../src/app/durable/sealed-text.ts'
import { Installation } from '../../src/app/installation.ts'
import { CALCULATE, captureIo, mock } from '../../src/cli/fixtures/toolyard.ts'
import { main } from '../../src/cli/main.ts'
import type { CallContext } from '../../src/core/call-context.ts'
import { systemClock } from '../../src/core/clock.ts'
import { ToolExecutor } from '../../src/core/execution/tool-executor.ts'
import { silentLog } from '../../src/core/log.ts'
import type { StoredKey } from '../../src/core/storage/key-store.ts'
import { packageFiles, writeFiles } from '../../src/packages/fixtures/package-files.ts'
import type { Office } from './office.ts'

/** A command line. */
export interface Line {
  readonly words: readonly string[]
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
  /** When the command has printed this, its input ends, or Ctrl-C is pressed if it has none. */
  readonly until?: RegExp
  /** Time passes from the call of this tool on, which times out. */
  readonly lasts?: string
  /** On a terminal. */
  readonly watched?: boolean
}

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** The ids of what is stored in the project. */
export interface Ids {
  readonly pending: string
  readonly approved: string
  readonly rejected: string
  /** Approved in another tenant. */
  readonly foreign: string
}

export const KEYS = { ci: '00000000-0000-4000-8000-000000000001', page: '00000000-0000-4000-8000-000000000002' }
const START = Date.UTC(2026, 0, 31, 12)
const SECOND = 1_000

const greet = (version: string, properties: object, more: object = {}) => ({
  ...mock('greet', version, properties),
  version,
  ...more,
})
const TEXT = { type: 'string' }

/** What the services at `url` are, the project uses. */
const configuration = (url: string) => ({
  tools: {
    enabled: true,
    registry: [
      CALCULATE,
      mock('weather', { condition: 'rain', degrees: 7 }, { city: TEXT }),
      { ...mock('search_web', 'found', { query: TEXT }), cost: { per_call: 0.005 } },
      { ...mock('pay', 'paid', { amount: { type: 'number' } }), effect: 'write', approval: true },
      greet('1.0.0', { who: TEXT }),
      greet('1.1.0', { who: TEXT, loud: { type: 'boolean' } }),
      greet('2.0.0', { name: TEXT }, { deprecated: { use: 'weather' } }),
      {
        ...mock('needs_key', 1),
        implementation: { type: 'http', url: 'https://api.example.com', headers: { key: '${GOLDEN_NOT_SET}' } },
      },
      { ...mock('broken', 1), parameters: { type: 'objekt' } },
    ],
    rollout: { greet: { current: '1.0.0' } },
  },
  models: [{ id: 'mini:v1', name: 'Mini', capabilities: ['function-calling'] }],
  providers: { office: { type: 'openai', base_url: `${url}/v1`, api_key: 'sk-test' } },
  http: { allow_private: ['127.0.0.1'] },
  knowledge: { embedder: 'none' },
  tenants: { acme: { flags: { payments: true } } },
  roles: { auditor: { scopes: ['read', 'observe'] } },
  costs: { currency: 'EUR' },
  budgets: [{ scope: 'tool', per: 'month', amount: 100 }],
  objectives: [{ tool: 'weather', success: 0.9 }, { p95_ms: 1_000 }],
  packages: { catalogue: 'catalogue.json' },
  storage: { payloads: 'all' },
})

const CATALOGUE = {
  packages: [{ name: '@acme/tools', version: '1.4.0', source: 'npm:@acme/tools', description: 'Tools of Acme' }],
}
const SUITE = {
  name: 'sums',
  cases: [
    {
      id: 'right',
      query: 'What is 20% of 80?',
      expect: { calls: [{ tool: 'calculate', params: { expression: '80 * 0.2' } }] },
    },
    {
      id: 'wrong',
      query: 'What is 20% of 80?',
      expect: { calls: [{ tool: 'calculate', params: { expression: '1 + 1' } }] },
    },
  ],
}
const API = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://pets.example/v1' }],
  paths: {
    '/pets': {
      get: {
        operationId: 'list_pets',
        tags: ['pets'],
        summary: 'Lists pets',
        parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', maximum: 100 } }],
      },
    },
    '/pets/{id}/photo': {
      put: { operationId: 'set_photo', summary: 'Sets a photo', requestBody: { content: { 'image/png': {} } } },
    },
  },
}

/** Settles when it is so. */
async function seen(isSo: () => boolean): Promise<false> {
  while (!isSo()) await pause(5)
  return false
}

/** Projects that are all the same, in which commands run at fixed times. */
export class GoldenProject {
  readonly #outer = realpathSync(mkdtempSync(join(tmpdir(), 'toolyard-golden-')))
  readonly #cwd = process.cwd()
  readonly #userInfo = os.userInfo
  readonly #template = join(this.#outer, 'template')
  readonly folder = join(this.#outer, 'project')
  readonly #env = {
    PATH: process.env.PATH,
    TOOLYARD_DATA: join(this.folder, 'data'),
    TOOLYARD_AUDIT_KEY: 'the audit key of the golden files',
    TOOLYARD_ENCRYPTION_KEY: 'g'.repeat(43),
    TOOLYARD_LOG: 'silent',
  }
  #now = START
  /** When the tool was called from whose call on time passes. */
  #calledAt: number | 'now' | undefined

  /** Makes a project with something of everything that commands list. */
  async prepare(office: Office): Promise<Ids> {
    const real = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => {
      if (this.#calledAt === 'now') this.#calledAt = real()
      return this.#now - START + SECOND + (this.#calledAt === undefined ? 0 : real() - this.#calledAt)
    })
    // The program of the command would download a model.
    vi.stubEnv('npm_config_registry', `${office.url}/npm/`)
    vi.stubEnv('npm_config_cache', join(this.#outer, 'npm-cache'))
    os.userInfo = (() => ({ username: 'olga' })) as unknown as typeof os.userInfo
    syncBuiltinESMExports()
    await mkdir(this.folder)
    process.chdir(this.folder)
    await this.#writeFiles(office.url)
    const ids = await this.#use()
    office.change()
    await rename(this.folder, this.#template)
    return ids
  }

  async close(): Promise<void> {
    process.chdir(this.#cwd)
    os.userInfo = this.#userInfo
    syncBuiltinESMExports()
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
    await rm(this.#outer, { recursive: true, force: true })
  }

  /** Makes the project what it was after its preparation. */
  async reset(): Promise<void> {
    process.chdir(this.#outer)
    await rm(this.folder, { recursive: true, force: true })
    await cp(this.#template, this.folder, { recursive: true })
    process.chdir(this.folder)
    this.#now = START + 3_600_000
  }

  /** Runs a command, one second after the last. */
  async run({ words, stdin = '', env, until, lasts, watched = false }: Line): Promise<Ended> {
    this.#pass()
    const stop = lasts === undefined ? undefined : this.#passFrom(lasts)
    const { io, written } = captureIo({ cwd: this.folder, watched })
    const input = new PassThrough()
    input.write(stdin)
    if (until === undefined) input.end()
    // Other tests of this process may have left listeners, which would end it.
    const others = process.listeners('SIGINT')
    const ended = main(words, { ...io, stdin: input, env: { ...this.#env, ...env } })
    if (until !== undefined) {
      const isOver = await Promise.race([ended.then(() => true), seen(() => until.test(written.out))])
      const own = process.listeners('SIGINT').filter((listener) => !others.includes(listener))
      if (!isOver && stdin === '') for (const interrupt of own) interrupt('SIGINT')
      input.end()
    }
    const code = await ended
    stop?.()
    return { code, ...written }
  }

  /** Lets the time pass from the call of a tool on. */
  #passFrom(tool: string): () => void {
    const { execute } = ToolExecutor.prototype
    const began = () => {
      this.#calledAt = 'now'
    }
    const spy = vi.spyOn(ToolExecutor.prototype, 'execute').mockImplementation(function (this: ToolExecutor, ...call) {
      if (call[0] === tool) began()
      return execute.apply(this, call)
    })
    return () => {
      spy.mockRestore()
      this.#calledAt = undefined
    }
  }

  #pass(): void {
    this.#now += SECOND
    vi.setSystemTime(this.#now)
  }

  async #writeFiles(url: string): Promise<void> {
    const config = configuration(url)
    const mcpServers = {
      pages: { url: `${url}/mcp`, pin: true },
      off: { command: 'off', disabled: true },
      lacks: { url: '${GOLDEN_NOT_SET}' },
    }
    const gone = { gone: { url: `${url}/gone`, check: 'the office' } }
    const served = { tools: { enabled: true, registry: [mock('echo', 'local')] }, http: config.http }
    const files = {
      'toolyard.config.json': config,
      'mcp.json': { ...served, mcpServers },
      'gone.json': { ...served, mcpServers: gone },
      'catalogue.json': CATALOGUE,
      'sums.json': SUITE,
      'pets.json': API,
      'documents/kettle.md': '# Kettle\n\nDescale the kettle once a month with vinegar.\n',
      'documents/stone.md': '# Stone\n\nGranite is a hard stone.\n',
      'tiny.gguf': 'GGUF',
    }
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(this.folder, path, '..'), { recursive: true })
      await writeFile(join(this.folder, path), typeof content === 'string' ? content : JSON.stringify(content))
    }
    await writeFiles(join(this.folder, 'package'), packageFiles({ more: { description: 'Says hello' } }))
  }

  async #use(): Promise<Ids> {
    const ids = await this.#useServer()
    const lines: (readonly string[] | Line)[] = [
      ['tenants', 'set', 'acme', 'beta=true'],
      { words: ['secrets', 'set', 'OFFICE_TOKEN'], stdin: 'secret' },
      // One by one: documents of one command are read at the same time.
      ['ingest', 'documents/kettle.md', '--metadata', 'lang=en'],
      ['ingest', 'documents/stone.md', '--metadata', 'lang=en'],
      ['pack', 'package'],
      ['add', 'acme-tools-1.0.0.tgz', '--yes'],
      ['rollout', 'start', 'greet', '--candidate', '1.1.0', '--percent', '25', '--min-calls', '50'],
      ['mcp', 'list', '--config', 'mcp.json'],
      ['runs', 'save', 'run-1', '--out', 'sum.cassette.json'],
      ['validate', '--suite', 'sums.json', '--report', 'before.json'],
    ]
    for (const line of lines) await this.run('words' in line ? line : { words: line })
    return ids
  }

  /** What a server does: calls, approvals, a run, keys and users. */
  async #useServer(): Promise<Ids> {
    this.#pass()
    const installation = await Installation.open({
      file: join(this.folder, 'toolyard.config.json'),
      env: this.#env,
      log: silentLog,
      // No timer writes records: each batch has those of one call, however slow the machine is.
      clock: { ...systemClock, after: () => () => {} },
    })
    try {
      const { manager, storage, approvals } = installation
      const call = async (tool: string, params: object, context: Partial<CallContext> = {}) => {
        this.#pass()
        const whole = { ...installation.localContext('rest'), ...context }
        const result = await manager.getExecutor().execute(tool, params as never, whole)
        // Records are handed over in the next turn of the event loop.
        await turn()
        await installation.sink.flush()
        return result.success ? '' : (result.details?.approval?.id ?? '')
      }
      await call('weather', { city: 'Hamburg' })
      await call('weather', { city: 7 })
      await call('wether', {})
      await call('search_web', { query: 'stone' })
      await call('search_web', { query: 'kettle' }, { tenant: 'acme', caller: KEYS.ci, keyId: KEYS.ci })
      for (const who of ['ada', 'bob']) await call('greet', { who }, { session: who })
      const ids = {
        pending: await call('pay', { amount: 5 }),
        approved: await call('pay', { amount: 6 }),
        rejected: await call('pay', { amount: 7 }),
        foreign: await call('pay', { amount: 8 }, { tenant: 'acme', caller: 'user:acme/ada', keyId: undefined }),
      }
      this.#pass()
      const by = { id: 'olga', name: 'Olga', source: 'rest' } as const
      const approve = { decision: 'approve', params: { amount: 4 }, reason: 'Less' } as const
      await approvals.decide('local', ids.approved, approve, by)
      await approvals.decide('acme', ids.foreign, approve, by)
      await approvals.decide('local', ids.rejected, { decision: 'reject', params: undefined, reason: 'No' }, by)
      this.#pass()
      const context = { ...installation.localContext('rest'), runId: 'run-1' }
      await (await manager.getChat()).answer({ message: 'What is 20% of 80?', model: 'mini:v1', context })
      this.#pass()
      const key = (name: keyof typeof KEYS, more: Partial<StoredKey>): StoredKey => ({
        ...{ id: KEYS[name], hash: `hash of ${name}`, tenant: 'acme', name, role: 'user', scopes: null, tools: null },
        ...{ models: null, calls_per_minute: null, expires_at: null, revoked_at: null, created_by: null },
        created_at: new Date().toISOString(),
        ...more,
      })
      await storage.keys.create(key('ci', { role: 'operator', budget: { per: 'month', amount: 10 } }))
      this.#pass()
      await storage.keys.create(key('page', { tools: ['get_*'], scopes: ['read'], calls_per_minute: 60 }))
      const at = { issued_at: Date.now(), expires_at: Date.now() + 3_600_000 }
      const ada = { id: 'user:acme/ada', tenant: 'acme', subject: 'ada', name: 'Ada', role: 'user', basis: 'b', ...at }
      await storage.keys.putUser(ada)
      const place = { tenant: 'local', user: 'user:local/ada', provider: 'octohub' }
      const tokens = TextSeal.from(this.#env).seal(
        '{"access_token":"t"}',
        JSON.stringify(['connection', ...Object.values(place)]),
      )
      await storage.connections.put(place, { tokens, scopes: 'mail files', expires_at: null }, Date.now(), 10)
      await storage.validations.record('local', 'mini:v1', { timestamp: new Date().toISOString(), success: true })
      return ids
    } finally {
      await installation.close()
    }
  }
}
