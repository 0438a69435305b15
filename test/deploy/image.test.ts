import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { FULL } from '../setup/full.ts'

// A Debian base, npm and a compiler, on a machine that may be busy.
vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 300_000 })

const root = fileURLToPath(new URL('../..', import.meta.url))
const BASE = 'docker.io/library/node:26-bookworm-slim'
const run = promisify(execFile)

/** Why the image can't be built here; undefined if it can. */
function obstacle(): string | undefined {
  if (!FULL) return 'only in npm run test:full'
  if (process.getuid?.() !== 0) return 'buildah needs root here'
  const missing = ['buildah', 'debootstrap'].filter((program) => spawnSync('which', [program]).status !== 0)
  return missing.length === 0 ? undefined : `apt-get install ${missing.join(' ')}`
}

const reason = obstacle()
const folder = reason === undefined ? mkdtempSync(join(tmpdir(), 'toolyard-image-')) : ''
const env = {
  ...process.env,
  STORAGE_DRIVER: 'vfs',
  BUILDAH_ISOLATION: 'chroot',
  CONTAINERS_STORAGE_CONF: '/dev/null',
}
const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
const buildah = async (...args: string[]): Promise<string> => {
  const { stdout } = await run('buildah', [...storage, ...args], { cwd: root, env, maxBuffer: 2 ** 28 })
  return stdout.trim()
}

afterAll(() => {
  if (reason === undefined) rmSync(folder, { recursive: true, force: true })
})

/** Debian with this Node.js and npm, under the name of the official image: there is no registry here. */
async function createBase(): Promise<void> {
  const base = join(folder, 'base')
  await run('debootstrap', ['--variant=minbase', 'bookworm', base], { maxBuffer: 2 ** 28 })
  cpSync(process.execPath, join(base, 'usr/local/bin/node'))
  const npm = dirname(dirname(execFileSync('sh', ['-c', 'readlink -f "$(which npm)"'], { encoding: 'utf8' })))
  cpSync(npm, join(base, 'usr/local/lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/local/bin/npm'))
  const container = await buildah('from', 'scratch')
  await buildah('config', '--env', 'PATH=/usr/local/bin:/usr/bin:/bin', container)
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env
  if (certificates) {
    // npm may have to go through the proxy of this machine.
    cpSync(certificates, join(base, 'etc/ssl/certs/extra.crt'), { recursive: true })
    await buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/extra.crt', container)
  }
  await buildah('copy', '--quiet', container, base, '/')
  await buildah('commit', '--quiet', container, BASE)
  await buildah('rm', container)
  rmSync(base, { recursive: true, force: true })
}

/** The megabytes of everything in the root file system of an image. */
async function megabytes(image: string): Promise<number> {
  const container = await buildah('from', '--pull-never', image)
  const mount = await buildah('mount', container)
  const { stdout } = await run('du', ['-sm', '--apparent-size', mount])
  await buildah('rm', container)
  return Number.parseInt(stdout, 10)
}

describe(`the image${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  test.runIf(reason === undefined)('is built, is small, and serves as a user that is not root', async () => {
    await createBase()
    const base = await megabytes(BASE)
    for (const [name, most, args] of [
      ['toolyard', 220, []],
      ['toolyard-without-mini', 170, ['--build-arg', 'MINI=']],
    ] as const) {
      await buildah('bud', '--pull-never', '--format', 'docker', '--tag', name, ...args, '.')
      expect((await megabytes(name)) - base, name).toBeLessThanOrEqual(most)
    }
    const container = await buildah('from', '--pull-never', 'toolyard')
    expect(await buildah('run', container, '--', 'id', '-u')).toBe('1000')
    expect(await buildah('run', container, '--', 'sh', '-c', 'touch /app/x 2>/dev/null || echo refused')).toBe(
      'refused',
    )
    const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', 'toolyard'))
    expect(Docker.config.Healthcheck.Test.join(' ')).toContain('/health')
    const port = 40_000 + (process.pid % 20_000)
    const variables = ['--env', 'TOOLYARD_HOST=127.0.0.1', '--env', `TOOLYARD_PORT=${port}`]
    const program = ['node', '/app/node_modules/toolyard/bin/toolyard.js', 'serve']
    const child = spawn('buildah', [...storage, 'run', ...variables, container, '--', ...program], { env })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    try {
      const health = async () => (await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined))?.status
      await expect.poll(health, { timeout: 120_000, interval: 500 }).toBe(200)
      const call = { tool_name: 'calculate', params: { expression: '2+2' } }
      const answer = await fetch(`http://127.0.0.1:${port}/tools/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(call),
      })
      expect(await answer.json()).toMatchObject({ success: true })
    } finally {
      child.kill('SIGTERM')
      await exited
    }
  })
})
