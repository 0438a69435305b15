import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../core/log.ts'
import { scripted } from '../testing/stand-ins.ts'
import { currentTool, schemaHash } from '../validation/tool-use/tool-use.ts'
import { Installation } from './installation.ts'

const tool = {
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
  implementation: { type: 'mock', mock_response: 1 },
}

/** Opens servers on one store, with a configuration that can be written anew. */
async function yard(gate: string) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-gate-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'toolyard.config.json')
  const configure = (gate: string) =>
    writeFile(
      file,
      JSON.stringify({ tools: { enabled: true, registry: [tool] }, validation: { gate, minimum_trials: 3 } }),
    )
  await configure(gate)
  return {
    configure,
    async open() {
      const installation = await Installation.open({
        file,
        log: silentLog,
        env: { TOOLYARD_DATA: join(folder, 'data') },
      })
      onTestFinished(() => installation.close())
      return installation
    },
  }
}

async function fails({ toolUse, manager }: Installation): Promise<void> {
  const add = currentTool(manager.getRegistry())('add')
  if (add === undefined) throw new Error('There is no tool')
  const use = {
    tenant: 'local',
    model: 'scripted:turns',
    tool: 'add',
    schemaHash: schemaHash(add),
    source: 'suite',
  } as const
  for (let n = 0; n < 3; n++) toolUse.record({ ...use, outcome: { passed: false, kind: 'wrong_value', message: '' } })
  await toolUse.flush()
}

const decided = async ({ manager }: Installation) => {
  const messages = [{ role: 'user', content: 'Go' }] as const
  const { gate } = await manager.getLoop().answer({ model: scripted('Hi.'), messages })
  return gate?.map(({ tool, decision }) => [tool, decision])
}

const until = (check: () => Promise<void>) => vi.waitFor(check, { interval: 50 })

test("servers that share a store apply each other's results within seconds", async () => {
  const { open } = await yard('hide')
  const [one, other] = [await open(), await open()]
  expect(await decided(other)).toBeUndefined()
  await fails(one)
  await until(async () => expect(await decided(other)).toEqual([['add', 'hide']]))
  // And one that starts later knows it from the start.
  expect(await decided(await open())).toEqual([['add', 'hide']])
})

test('a changed setting applies after a reload', async () => {
  const { open, configure } = await yard('off')
  const installation = await open()
  await fails(installation)
  expect(await decided(installation)).toBeUndefined()
  await configure('warn')
  await installation.reload()
  expect(await decided(installation)).toEqual([['add', 'warn']])
})
