import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hashApiKey, newApiKey } from '../../src/app/callers/callers.ts'
import { type Config, silentLog, type ToolDefinition } from '../../src/index.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'
import { weatherTool } from '../toolyard.ts'
import { WEATHER } from '../weather.ts'
import { ServerProcess } from './server-process.ts'

const PROGRAM = new URL('./toolyard-server.ts', import.meta.url)
const TENANT = 'bench'

export interface StartedToolyard {
  readonly server: ServerProcess
  /** An API key of an operator; empty for a server without keys. */
  readonly key: string
  /** Ends the server and removes what it kept. */
  close(): Promise<void>
}

/** What the model calls for the question of the bench: sums it reads from the words, without its weights. */
const SUM: ToolDefinition = {
  name: 'calculate',
  description: 'Evaluate an expression.',
  parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
  implementation: { type: 'mock', mock_response: { result: 16 } },
}

/** The weather tool under a limit of its own, a limit for the caller, and a model that calls tools. */
const CONFIG: Config = {
  tools: {
    enabled: true,
    registry: [
      weatherTool({
        implementation: { type: 'mock', mock_response: WEATHER },
        rate_limit: { calls: 100_000, per_ms: 1_000 },
      }),
      SUM,
    ],
  },
  limits: { calls_per_minute: 10_000_000 },
  server: { drain_ms: 0 },
  // The vectors of its own docs, which a new server makes in the background, are another matter.
  knowledge: { embedder: 'none' },
  responses: [{ llm: 'mini', model: 'v1', prompt: 'Use the tools.', tools: { enabled: true } }],
}

/** `toolyard serve` on this machine, over an embedded store in a folder of its own, with one key or none. */
export async function startToolyard(config = CONFIG, keyed = true): Promise<StartedToolyard> {
  const { folder, remove } = await temporaryFolder()
  try {
    const file = join(folder, 'toolyard.config.json')
    await writeFile(file, JSON.stringify(config))
    const key = keyed ? await createKey(folder) : ''
    const env = { TOOLYARD_DATA: folder, TOOLYARD_DATABASE_URL: '' }
    const args = ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--config', file]
    const server = await ServerProcess.start(PROGRAM, args, env)
    const close = async () => {
      await server.close()
      remove()
    }
    return { server, key, close }
  } catch (error) {
    remove()
    throw error
  }
}

async function createKey(folder: string): Promise<string> {
  const storage = await openStorage({ folder, instance: randomUUID(), keepDays: 7 }, { log: silentLog })
  const key = newApiKey()
  await storage.keys.create({
    id: randomUUID(),
    hash: hashApiKey(key),
    tenant: TENANT,
    name: 'bench',
    role: 'operator',
    scopes: null,
    tools: null,
    models: null,
    calls_per_minute: null,
    created_at: new Date().toISOString(),
    expires_at: null,
    revoked_at: null,
    created_by: null,
  })
  await storage.close()
  return key
}
