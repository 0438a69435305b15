import { execFile, execFileSync } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../core/tool.ts'
import { createTerminal } from '../common/terminal.ts'
import { createProgram } from '../main.ts'
import { COMPLETION_SCRIPTS, completionWords } from './completion.ts'

const tool = (name: string): ToolDefinition => ({
  name,
  description: 'A tool.',
  parameters: {
    type: 'object',
    properties: { location: { type: 'string' }, units: { enum: ['celsius', 'kelvin'] }, now: { type: 'boolean' } },
  },
  implementation: { type: 'mock' },
})
const words = async (...typed: string[]) =>
  completionWords(await createProgram(createTerminal(false), typed, () => {}), typed, {
    tools: [tool('weather'), tool('when'), tool('$(touch x)')],
    servers: ['memory', 'mail', '$(touch x)'],
    roles: ['admin', 'operator', 'owner', 'user'],
  })

describe('the words that fit', () => {
  test.each([
    [
      [''],
      [
        'init',
        'serve',
        'exec',
        'tools',
        'check',
        'chat',
        'validate',
        'models',
        'mcp',
        'import',
        'pack',
        'add',
        'remove',
        'outdated',
        'packages',
        'ingest',
        'search',
        'keys',
        'tenants',
        'approvals',
        'connections',
        'secrets',
        'rollout',
        'versions',
        'diff',
        'costs',
        'audit',
        'report',
        'objectives',
        'runs',
        'validations',
        'storage',
        'backup',
        'restore',
        'demo',
        'completion',
      ],
    ],
    [['t'], ['tools', 'tenants']],
    [['to'], ['tools']],
    [['--ver'], ['--version', '--verbose']],
    [['exec', '--t'], ['--timeout']],
    [
      ['tools', '--c'],
      ['--config', '--check'],
    ],
    [
      ['exec', 'w'],
      ['weather', 'when'],
    ],
    [['--config', 'x.json', '--json', 'exec', 'wea'], ['weather']],
    [
      ['exec', 'weather', ''],
      ['location=', 'units=', 'now='],
    ],
    [
      ['exec', 'weather', 'location=Paris', ''],
      ['units=', 'now='],
    ],
    [['exec', 'weather', 'units=k'], ['units=kelvin']],
    [
      ['exec', 'weather', 'units', '='],
      ['celsius', 'kelvin'],
    ],
    [['exec', 'weather', 'units', '=', 'c'], ['celsius']],
    [
      ['exec', 'weather', 'now='],
      ['now=true', 'now=false'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['mcp', 'te'], ['test']],
    [['mcp', 's'], ['serve']],
    [
      ['mcp', 'test', ''],
      ['memory', 'mail'],
    ],
    [['mcp', '--json', 'call', 'me'], ['memory']],
    [['mcp', 'call', 'memory', ''], []],
    [
      ['mcp', 'serve', '--h'],
      ['--http', '--help'],
    ],
    [['mcp', 'call', 'memory', 'x', '--timeout', ''], []],
    [['mcp', 'list', ''], []],
    [
      ['search', 'question', '--by', ''],
      ['hybrid', 'text', 'vector'],
    ],
    [['ingest', 'docs', '--m'], ['--metadata']],
    [
      ['models', 'a'],
      ['add', 'add-embeddings'],
    ],
    [
      ['keys', ''],
      ['create', 'edit', 'list', 'rotate', 'revoke', 'restore', 'signing'],
    ],
    [
      ['keys', 'create', '--role', 'o'],
      ['operator', 'owner'],
    ],
    [['keys', 'create', '--role', 'operator', '--ex'], ['--expires']],
    [
      ['audit', 'export', '--format', ''],
      ['csv', 'json'],
    ],
    [
      ['runs', ''],
      ['list', 'show', 'save', 'replay'],
    ],
    [['runs', 'save', '--as'], ['--as-case']],
    [['exec', 'weather', '--timeout', ''], []],
    [['--config', ''], []],
    [['exec', 'nothing', ''], []],
  ])('after %j', async (typed, expected) => {
    expect(await words(...typed)).toEqual(expected)
  })

  test('a name that a shell would expand is not offered', async () => {
    expect(await words('exec', '')).toEqual(['weather', 'when'])
  })
})

const has = (shell: string): boolean => {
  try {
    execFileSync(shell, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe.runIf(has('bash'))('in bash', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolyard-completion-'))
    const bin = fileURLToPath(new URL('../../../bin/toolyard.js', import.meta.url))
    await writeFile(join(folder, 'toolyard'), `#!/bin/sh\nexec "${process.execPath}" "${bin}" "$@"\n`)
    await chmod(join(folder, 'toolyard'), 0o755)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const complete = async (...typed: string[]) => {
    const script = `${COMPLETION_SCRIPTS.get('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _toolyard; printf '%s\\n' "\${COMPREPLY[@]}"`
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` }
    const run = promisify(execFile)('bash', ['-euc', script, 'bash', 'toolyard', ...typed], { env, cwd: folder })
    return (await run).stdout.trim().split('\n')
  }

  test('commands, tools and parameters are completed', async () => {
    expect(await complete('to')).toEqual(['tools'])
    expect(await complete('exec', 'get_')).toEqual(['get_weather'])
    expect(await complete('exec', 'get_weather', 'units', '=', 'f')).toEqual(['fahrenheit'])
  })

  test('a configuration that cannot be read still leaves the commands', async () => {
    expect(await complete('--config', 'nowhere.json', 'de')).toEqual(['demo'])
  })
})

describe.each(['zsh', 'fish'].filter(has))('in %s', (shell) => {
  test('the script can be read', () => {
    execFileSync(shell, ['-n', '-c', COMPLETION_SCRIPTS.get(shell) ?? ''])
  })
})
