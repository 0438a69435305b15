import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'
/** A greeting needs no weights of the model, which a busy machine may need longer to load than an answer may take. */
const QUESTION = FULL ? 'what time is it' : 'good morning'
const ANSWER = FULL ? /house: .*\d\d/ : /house: Hello/

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAIN = ['-C', 'toolyard-source', join(HERE, 'main.ts')]

/** The example as its reader starts it, with these lines typed. */
function run(
  lines: readonly string[],
  env: Record<string, string> = {},
  main: readonly string[] = MAIN,
): Promise<{ code: unknown; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, main, { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
    child.stdin?.end(`${lines.join('\n')}\n`)
  })
}

test('one command: broker, devices, gateway and page; what is typed is answered, and it ends by itself', async () => {
  const { code, stdout } = await run([QUESTION, 'wav /no/such/file'])
  expect(stdout).toMatch(/Page: {4}http:\/\/127\.0\.0\.1:\d+\//)
  expect(stdout).toContain('datetime, search, volume, control_zwave_device, list_devices, get_device_state')
  expect(stdout).toContain(`you:   ${QUESTION}`)
  expect(stdout).toMatch(ANSWER)
  expect(stdout).toContain('There is no file /no/such/file')
  expect(code).toBe(0)
})

test.runIf(FULL)('without a broker it says so in the lines of the specification, and goes on', async () => {
  const { code, stdout, stderr } = await run([QUESTION], { MQTT_URL: 'mqtt://127.0.0.1:1' })
  const lines = stderr.split('\n')
  const begin = lines.indexOf('MCP connection failed after 3 attempts')
  expect(lines.slice(begin, begin + 5)).toEqual([
    'MCP connection failed after 3 attempts',
    expect.stringMatching(/^Reason: ./),
    expect.stringMatching(/^MCP Server stderr: .*The MQTT broker cannot be reached: ECONNREFUSED/),
    'Check: MQTT broker running, zwave-mcp-server installed',
    expect.stringMatching(/^Continuing with local tools only \(.*datetime, search, volume.*\)$/),
  ])
  expect(stderr).toContain('MQTT broker not reached (ECONNREFUSED)')
  expect(stdout).toContain('Tools:   datetime, search, volume\n')
  expect(stdout).toMatch(ANSWER)
  expect(code).toBe(0)
})

test.runIf(FULL)('Ctrl+C ends it, and its server', async () => {
  const child = spawn(process.execPath, MAIN, { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  await vi.waitFor(() => expect(out).toContain('Say something'))
  child.kill('SIGINT')
  expect((await once(child, 'exit'))[0]).toBe(0)
})

test.runIf(FULL)('S14 its parts work in another folder, in the program of the README', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-voice-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const part of ['gateway', 'zwave-mcp-server', 'toolyard.config.json']) {
    await cp(join(HERE, part), join(folder, part), { recursive: true })
  }
  await mkdir(join(folder, 'node_modules'))
  await symlink(ROOT, join(folder, 'node_modules/toolyard'))
  for (const name of ['mqtt', 'zod', '@modelcontextprotocol']) {
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  }
  const readme = await readFile(join(HERE, 'README.md'), 'utf8')
  await writeFile(join(folder, 'main.mts'), String(/```ts\n(.*?)```/s.exec(readme)?.[1]))
  const main = ['-C', 'toolyard-source', join(folder, 'main.mts')]
  const { code, stdout, stderr } = await run([], { MQTT_URL: 'mqtt://127.0.0.1:1' }, main)
  expect(stdout, stderr).toMatch(/^Hello/)
  expect(code).toBe(0)
})
