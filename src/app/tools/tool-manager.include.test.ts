import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ConfigError, loadConfigFile } from '../../config/load-config.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { Installation } from '../installation.ts'
import { ToolManager } from './tool-manager.ts'

const mock = (name: string, more: object = {}) => ({
  name,
  description: `Answers for ${name}.`,
  parameters: { type: 'object' },
  implementation: { type: 'mock', mock_response: name },
  ...more,
})

/** A folder with these files, objects as JSON, inside another one; gives the path of the configuration. */
async function folder(registry: readonly unknown[], files: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const outer = await mkdtemp(join(tmpdir(), 'toolyard-include-'))
  onTestFinished(() => rm(outer, { recursive: true, force: true }))
  const all = { 'toolyard.config.json': { tools: { enabled: true, registry } }, ...files }
  for (const [name, content] of Object.entries(all)) {
    const file = join(outer, 'home', name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  }
  return join(outer, 'home', 'toolyard.config.json')
}

async function load(file: string) {
  const { config } = await loadConfigFile(file)
  const manager = new ToolManager(config, { log: captureLog() })
  onTestFinished(() => manager.close())
  return manager.loadTools()
}

const problem = async (file: string): Promise<string> => {
  const error = await loadConfigFile(file).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  return (error as Error).message.replace(dirname(file), '')
}

describe('an include in tools.registry', () => {
  test('is replaced by the definitions in its file, in order', async () => {
    const file = await folder([mock('a'), { include: 'tools/x.json' }, mock('d'), { include: 'y.json' }], {
      'tools/x.json': [mock('b'), mock('c')],
      'y.json': `\uFEFF${JSON.stringify([mock('e')])}`,
    })
    expect(await load(file)).toEqual({ loaded: ['a', 'b', 'c', 'd', 'e'], skipped: [], warnings: [] })
  })

  test('skips an invalid definition and reports its place in the file', async () => {
    const file = await folder([{ include: 'tools/x.json' }, mock('a'), { nothing: 1 }], {
      'tools/x.json': [mock('a'), {}, mock('b', { parameters: 5 })],
    })
    const { loaded, skipped } = await load(file)
    expect(loaded).toEqual(['a'])
    expect(skipped).toEqual([
      { name: 'tools/x.json[1]', problem: 'Tool must have name and description' },
      { name: 'b', problem: 'Tool parameters must be an object schema' },
      {
        name: 'a',
        problem:
          "The name 'a' at tools.registry[1] is already used by tools/x.json[0]: rename one of them, or give it another version",
      },
      { name: 'tools.registry[2]', problem: 'Tool must have name and description' },
    ])
  })

  test('is an unknown key in a definition', async () => {
    const { loaded, skipped } = await load(await folder([mock('a', { include: 'x.json' })]))
    expect(loaded).toEqual([])
    expect(skipped).toMatchObject([{ name: 'a', problem: expect.stringContaining("unknown key 'include'") }])
  })

  test('is read again with the configuration', async () => {
    const file = await folder([{ include: 'x.json' }], { 'x.json': [mock('a')] })
    const env = { TOOLYARD_DATA: join(dirname(file), 'data') }
    const installation = await Installation.open({ file, env, log: captureLog() })
    onTestFinished(() => installation.close())
    const names = () =>
      installation.manager
        .getRegistry()
        .definitions()
        .map(({ name }) => name)
    expect(names()).toEqual(['a'])
    await writeFile(join(dirname(file), 'x.json'), JSON.stringify([mock('a'), mock('b')]))
    await installation.reload()
    expect(names()).toEqual(['a', 'b'])
    await writeFile(join(dirname(file), 'x.json'), '[')
    await expect(installation.reload()).rejects.toThrow("'x.json': not valid JSON")
    expect(names()).toEqual(['a', 'b'])
  })

  test('works only in a configuration file', async () => {
    const manager = new ToolManager(
      { tools: { enabled: true, registry: [{ include: 'x.json' }] } },
      { log: captureLog() },
    )
    onTestFinished(() => manager.close())
    expect((await manager.loadTools()).skipped).toEqual([
      {
        name: 'tools.registry[0]',
        problem: 'An include works only in a configuration file: load it with loadConfigFile',
      },
    ])
  })
})

describe('an invalid include fails with file, path and fix', () => {
  test.each([
    ['a file that is not there', 'gone.json', 'there is no such file. Create it, or remove the entry.'],
    ['a folder', 'folder', 'it is a folder, not a file. Create it, or remove the entry.'],
    ['bad JSON', 'bad.json', 'not valid JSON: '],
    ['not a list', 'object.json', 'it must contain an array of tool definitions.'],
    [
      'another include',
      'nested.json',
      'nested.json[1] includes another file: move that entry to tools.registry of the configuration.',
    ],
    ['a file outside', '../outside.json', 'it is outside the folder of the configuration: move it there.'],
    [
      'a file outside, by its whole path',
      '/etc/hostname',
      'it is outside the folder of the configuration: move it there.',
    ],
    ['a link to the outside', 'link.json', 'it is outside the folder of the configuration: move it there.'],
    [
      'a folder that is a link to the outside',
      'linked/outside.json',
      'it is outside the folder of the configuration: move it there.',
    ],
    ['a name with a NUL', 'a\0.json', 'it cannot be read (ERR_INVALID_ARG_VALUE). Create it, or remove the entry.'],
  ])('%s', async (_, include, expected) => {
    const file = await folder([mock('a'), { include }], {
      'folder/x.json': [],
      'bad.json': '[{]',
      'object.json': {},
      'nested.json': [mock('a'), { include: 'x.json' }],
      '../outside.json': [],
    })
    await symlink(join(dirname(file), '../outside.json'), join(dirname(file), 'link.json'))
    await symlink(join(dirname(file), '..'), join(dirname(file), 'linked'))
    expect(await problem(file)).toContain(`/toolyard.config.json: tools.registry[1].include '${include}': ${expected}`)
  })

  test('rejects a pipe', async () => {
    const file = await folder([{ include: 'pipe.json' }])
    execFileSync('mkfifo', [join(dirname(file), 'pipe.json')])
    expect(await problem(file)).toContain("tools.registry[0].include 'pipe.json': it is not a file.")
  })

  test.each([{ permissions: ['admin'] }, { enabled: false }, { effect: 'read' }])(
    'rejects other keys beside it: %j',
    async (beside) => {
      const file = await folder([{ include: 'x.json', ...beside }], { 'x.json': [mock('a')] })
      expect(await problem(file)).toContain(
        `tools.registry[0] has '${Object.keys(beside)[0]}' beside its include, which has no effect: move it to the definitions in that file.`,
      )
    },
  )

  test('follows a link inside the folder', async () => {
    const file = await folder([{ include: 'link.json' }], { 'x.json': [mock('a')] })
    await symlink(join(dirname(file), 'x.json'), join(dirname(file), 'link.json'))
    expect((await load(file)).loaded).toEqual(['a'])
  })
})
