import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { captureIo, emptyFolder, folder, toolyard } from '../fixtures/toolyard.ts'
import { main } from '../main.ts'

afterAll(emptyFolder)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)

const configIn = (name: string) => JSON.parse(readFileSync(join(folder, name, 'toolyard.config.json'), 'utf8'))
const namesIn = (name: string) => configIn(name).tools.registry.map((tool: { name: string }) => tool.name)

/** Lets the written test and `npm create` find this package. */
function linkToolyard(name: string): void {
  mkdirSync(join(folder, name, 'node_modules'), { recursive: true })
  symlinkSync(root, join(folder, name, 'node_modules', 'toolyard'), 'dir')
}

test('--yes writes a configuration that checks, and a test that passes', { timeout: 120_000 }, async () => {
  const { code, out, err } = await toolyard(['init', 'all', '--yes', '--kinds', 'mock,builtin,http'])
  expect(code).toBe(0)
  const file = join(folder, 'all', 'toolyard.config.json')
  expect(out).toContain(`Created ${file}\n`)
  expect(err).toMatch(/ {2}npx toolyard check\n {2}node --test\n {2}npx toolyard serve\n$/)
  expect(err).toContain('after you have installed Toolyard there (docs/start/install.md):')
  expect(namesIn('all')).toEqual(['get_weather', 'calculate', 'get_repository'])
  expect(await toolyard(['check', '--strict', '--config', file])).toMatchObject({ code: 0 })
  linkToolyard('all')
  const tested = await run(process.execPath, ['-C', 'toolyard-source', '--test'], {
    cwd: join(folder, 'all'),
    env: { PATH: process.env.PATH },
  })
  expect(tested.stdout).toMatch(/pass 4\b/)
})

test.each(['openai', 'gemini', 'ollama'])('--provider %s writes a configuration that checks', async (provider) => {
  await toolyard(['init', provider, '--yes', '--kinds', 'mock', '--provider', provider])
  const file = join(folder, provider, 'toolyard.config.json')
  expect(await toolyard(['check', '--config', file])).toMatchObject({ code: 0 })
})

test('a provider gets its key from the environment', async () => {
  const { out } = await toolyard(['init', 'keyed', '--yes', '--kinds', 'mcp', '--provider', 'anthropic', '--json'])
  expect(JSON.parse(out).next).toHaveLength(3)
  expect(configIn('keyed')).toMatchObject({
    providers: { anthropic: { api_key: '${ANTHROPIC_API_KEY}' } },
    mcpServers: { files: { command: 'npx' } },
  })
  expect(readFileSync(join(folder, 'keyed', '.env.example'), 'utf8')).toContain('\nANTHROPIC_API_KEY=\n')
})

test('asks on a terminal, and asks again after a mistake', async () => {
  const { io, written } = captureIo({ watched: true })
  const stdin = Object.assign(Readable.from(['htpp\nhttp, mock\n\n']), { isTTY: true })
  expect(await main(['init', 'asked'], { ...io, stdin })).toBe(0)
  expect(written.err).toContain('Unknown kind "htpp". Did you mean "http"?')
  expect(written.err).toContain('Model provider (mini, openai, anthropic, gemini, ollama) [mini]')
  expect(namesIn('asked')).toEqual(['get_repository', 'get_weather'])
})

test('never overwrites a file', async () => {
  mkdirSync(join(folder, 'taken'))
  writeFileSync(join(folder, 'taken', '.env.example'), 'mine')
  const { code, err } = await toolyard(['init', 'taken', '--yes'])
  expect(code).toBe(2)
  expect(err).toContain('.env.example already exists')
  expect(readFileSync(join(folder, 'taken', '.env.example'), 'utf8')).toBe('mine')
  expect(() => configIn('taken')).toThrow('ENOENT')
})

test.each([
  [['init', 'x'], 'asks questions on a terminal only'],
  [['init', 'x', '--yes', '--kinds', 'grpc'], 'Unknown kind "grpc"'],
  [['init', 'x', '--yes', '--provider', 'openia'], 'Unknown provider "openia". Did you mean "openai"?'],
])('refuses %j', async (args, problem) => {
  const { code, err } = await toolyard(args)
  expect(code).toBe(2)
  expect(err).toContain(problem)
})

test('npm create toolyard runs toolyard init', async () => {
  linkToolyard('create')
  const program = readFileSync(join(root, 'create-toolyard', 'index.js'))
  writeFileSync(join(folder, 'create', 'index.mjs'), program)
  const cwd = join(folder, 'create')
  const { stdout, stderr } = await run(process.execPath, ['index.mjs', 'made', '--yes'], { cwd })
  expect(stdout).toContain(join('create', 'made', 'toolyard.config.json'))
  expect(stderr).toContain(`Next, in ${join(cwd, 'made')}:\n`)
})
