import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfigFile, silentLog, ToolManager } from 'toolyard'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { localConfig, localHandlers } from './local-tools.ts'
import { readSettings } from './settings.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'toolyard-voice-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

/** The local tools of the gateway, through the executor. */
async function tools(env: Record<string, string> = {}) {
  const settings = readSettings(env)
  const file = fileURLToPath(new URL('../toolyard.config.json', import.meta.url))
  const { mcpServers: _, ...config } = (await loadConfigFile(file)).config
  const changes: number[] = []
  const handlers = localHandlers(settings, (level) => void changes.push(level))
  const manager = new ToolManager(localConfig(config, settings), { handlers, log: silentLog })
  onTestFinished(() => manager.close())
  const report = await manager.loadTools()
  const call = (tool: string, params: object) => manager.getExecutor().execute(tool, params)
  return { call, changes, report }
}

describe('the local tools', () => {
  test('are datetime, search and volume, without a warning', async () => {
    const { report } = await tools()
    expect(report).toMatchObject({ loaded: ['datetime', 'search', 'volume'], skipped: [], warnings: [] })
  })

  test('datetime knows where the house is', async () => {
    const { call } = await tools()
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
    expect(await call('datetime', {})).toMatchObject({ success: true, result: { timezone: timeZone } })
  })

  test('search finds what is in the notes of the house, and nothing where there is nothing', async () => {
    const { call } = await tools()
    const bins = await call('search', { query: 'when is the glass collected' })
    expect(bins).toMatchObject({
      result: { results: [{ source: 'notes.md', text: expect.stringContaining('first Friday') }] },
    })
    expect(await call('search', { query: 'zeppelin' })).toMatchObject({ result: { results: [] } })
  })

  test('search reads nothing outside its folder, and nothing that is too large or no text', async () => {
    const [inside, outside] = [await folder(), await folder()]
    await writeFile(join(outside, 'secret.txt'), 'the treasure is under the oak')
    await mkdir(join(inside, 'deep'))
    await symlink(join(outside, 'secret.txt'), join(inside, 'link.txt'))
    await symlink(outside, join(inside, 'linked'))
    await writeFile(join(inside, 'huge.txt'), `treasure ${'x'.repeat(300_000)}`)
    await writeFile(join(inside, 'treasure.bin'), 'treasure')
    await writeFile(join(inside, 'deep', 'map.txt'), 'no treasure here')
    const { call } = await tools({ TOOLYARD_VOICE_DOCUMENTS: inside })
    for (const query of ['treasure', '../treasure']) {
      expect(await call('search', { query })).toMatchObject({ result: { results: [{ source: 'deep/map.txt' }] } })
    }
  })

  test('search over a folder that is not there says what to check', async () => {
    const { call } = await tools({ TOOLYARD_VOICE_DOCUMENTS: '/no/such/folder' })
    const result = await call('search', { query: 'x' })
    expect(result).toMatchObject({ success: false, error: expect.stringContaining('TOOLYARD_VOICE_DOCUMENTS') })
    expect(JSON.stringify(result)).not.toContain('/no/such')
  })

  test('search is over the collections where that is wanted', async () => {
    const { call } = await tools({ TOOLYARD_VOICE_DOCUMENTS: 'collections' })
    expect(await call('search', { query: 'deadline of a call' })).toMatchObject({
      success: true,
      result: { results: expect.any(Array) },
    })
  })

  test('volume: get, set, up and down, within 0 and 100, and every change is told', async () => {
    vi.stubEnv('PATH', await folder())
    onTestFinished(() => void vi.unstubAllEnvs())
    const { call, changes } = await tools()
    expect(await call('volume', { operation: 'get' })).toMatchObject({ result: { volume: 50 } })
    expect(await call('volume', { operation: 'set', level: 95 })).toMatchObject({ result: { volume: 95, before: 50 } })
    expect(await call('volume', { operation: 'up' })).toMatchObject({ result: { volume: 100 } })
    expect(await call('volume', { operation: 'down', step: 30 })).toMatchObject({ result: { volume: 70 } })
    expect(changes).toEqual([95, 100, 70])
    for (const wrong of [{ operation: 'set' }, { operation: 'set', level: 101 }, { operation: 'explode' }]) {
      expect(await call('volume', wrong)).toMatchObject({ success: false, error_code: 'INVALID_PARAMETERS' })
    }
    expect(changes).toHaveLength(3)
  })

  test('volume uses the mixer of the machine where it has one', async () => {
    const bin = await folder()
    const amixer = `#!/bin/sh
case "$*" in
  *sget*) echo "  Mono: Playback 42 [$(cat "${bin}/level" 2>/dev/null || echo 20)%] [on]";;
  *sset*) for last; do :; done; printf %s "\${last%\\%}" > "${bin}/level";;
esac
`
    await writeFile(join(bin, 'amixer'), amixer)
    await chmod(join(bin, 'amixer'), 0o755)
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env.PATH}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { call } = await tools()
    expect(await call('volume', { operation: 'up' })).toMatchObject({ result: { volume: 30, before: 20 } })
    expect(await call('volume', { operation: 'get' })).toMatchObject({ result: { volume: 30 } })
  })
})
