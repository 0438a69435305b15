import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Clock } from '../../core/clock.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { addModel } from './add-model.ts'
import type { AddModelOptions, AddProgress } from './download.ts'
import { modelNames } from './model-folder.ts'

const SIZE = 400_000
const content = Buffer.alloc(SIZE, 'abcdefgh')
content.write('GGUF')
/** The beginning of what stood at the address before. */
const older = Buffer.from(`GGUF${'z'.repeat(996)}`)
const sha256 = createHash('sha256').update(content).digest('hex')

/** Pauses between attempts take no time. */
const hasty: Clock = {
  now: () => 0,
  wall: () => 0,
  after(_ms, callback) {
    const timer = setImmediate(callback)
    return () => clearImmediate(timer)
  },
}

let folder: string
let server: Server
let base: string
let asked: IncomingMessage[]
let answer: (request: IncomingMessage, response: ServerResponse) => void

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-models-'))
  asked = []
  server = createServer((request, response) => {
    asked.push(request)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await rm(folder, { recursive: true, force: true })
})

const add = (source: string, more: Partial<AddModelOptions> = {}) =>
  addModel(source, { dataFolder: folder, log: captureLog(), clock: hasty, ...more })
const files = () => readdir(join(folder, 'models')).then((names) => names.sort())
const addedFile = () => readFile(join(folder, 'models', 'tiny.gguf'))
const ranges = () => asked.map(({ headers }) => headers.range)

/** Serves a file as web servers do: ranges, a tag, and whatever is to go wrong. */
function serve({
  body = content,
  etag = '"one"' as string | undefined,
  cutAfter = Number.POSITIVE_INFINITY,
  ranged = true,
} = {}) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const asked = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')
    const same = request.headers['if-range'] === undefined || request.headers['if-range'] === etag
    const start = ranged && same && asked !== null ? Number(asked[1]) : 0
    const tag = etag === undefined ? {} : { etag }
    if (start >= body.length) {
      response.writeHead(416, { 'content-range': `bytes */${body.length}` }).end()
      return
    }
    const rest = body.subarray(start)
    response.writeHead(start > 0 ? 206 : 200, {
      ...tag,
      'content-length': rest.length,
      ...(start > 0 && { 'content-range': `bytes ${start}-${body.length - 1}/${body.length}` }),
    })
    if (rest.length <= cutAfter) response.end(rest)
    else response.write(rest.subarray(0, cutAfter), () => setTimeout(() => response.destroy(), 5))
  }
}

describe('adding a model file', () => {
  test('from an address: it comes whole, is hashed, and nothing else stays', async () => {
    answer = serve()
    const seen: AddProgress[] = []
    const added = await add(`${base}/some/tiny.gguf?download=true`, { onProgress: (progress) => seen.push(progress) })
    expect(added).toEqual({ name: 'tiny', file: join(folder, 'models', 'tiny.gguf'), bytes: SIZE, sha256 })
    expect(await addedFile()).toEqual(content)
    expect(await files()).toEqual(['tiny.gguf'])
    expect(await modelNames(folder)).toEqual(['tiny'])
    expect(seen.filter(({ phase }) => phase === 'fetching').at(-1)).toEqual({
      phase: 'fetching',
      bytes: SIZE,
      total: SIZE,
    })
    expect(seen.at(-1)).toEqual({ phase: 'checking', bytes: SIZE, total: SIZE })
  })

  test('resumes a download that is interrupted several times', async () => {
    answer = serve({ cutAfter: 150_000 })
    const log = captureLog()
    expect((await add(`${base}/tiny.gguf`, { log })).sha256).toBe(sha256)
    expect(await addedFile()).toEqual(content)
    expect(ranges()[0]).toBeUndefined()
    expect(
      ranges()
        .slice(1)
        .every((range) => /^bytes=[1-9]\d*-$/.test(range ?? '')),
    ).toBe(true)
    expect(log.at('warn').length).toBe(asked.length - 1)
  })

  test('what an earlier command left is taken up by the next', async () => {
    const controller = new AbortController()
    answer = serve({ cutAfter: 150_000 })
    const onProgress = () => controller.abort(new Error('Ctrl-C'))
    await expect(add(`${base}/tiny.gguf`, { signal: controller.signal, onProgress })).rejects.toThrow('Ctrl-C')
    expect(await files()).toEqual(['tiny.gguf.part', 'tiny.gguf.part.json'])
    expect(await modelNames(folder)).toEqual([])
    answer = serve()
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
    expect(ranges()[1]).toMatch(/^bytes=[1-9]\d*-$/)
    expect(await files()).toEqual(['tiny.gguf'])
  })

  test('a file that has become another since is fetched anew', async () => {
    await leave(older, { etag: '"old"', total: SIZE })
    answer = serve({ etag: '"new"' })
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
    expect(asked).toHaveLength(1)
  })

  test('so it is where the server pays no attention to the tag it is asked for', async () => {
    await leave(older, { etag: '"old"', total: SIZE })
    const file = serve({ etag: '"new"' })
    answer = (request, response) => {
      delete request.headers['if-range']
      file(request, response)
    }
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
    expect(ranges()).toEqual(['bytes=1000-', undefined])
  })

  test('a server that goes on at another place than it was asked for is asked for the whole', async () => {
    await leave(content.subarray(0, 1_001), { etag: '"one"', total: SIZE })
    const file = serve()
    answer = (request, response) => {
      if (request.headers.range !== undefined) request.headers.range = 'bytes=1000-'
      file(request, response)
    }
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
  })

  test('a server that gives out only so much at a time is asked until all is there', async () => {
    await leave(content.subarray(0, 1_000), { etag: '"one"', total: SIZE })
    answer = (request, response) => {
      const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0])
      const piece = content.subarray(start, start + 150_000)
      const range = `bytes ${start}-${start + piece.length - 1}/${SIZE}`
      response.writeHead(206, { etag: '"one"', 'content-range': range, 'content-length': piece.length }).end(piece)
    }
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
    expect(asked).toHaveLength(3)
  })

  test('where there is no tag, another size tells that it has become another', async () => {
    await leave(content.subarray(0, 1_000), { total: SIZE - 1 })
    answer = serve({ etag: undefined })
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
    expect(ranges()).toEqual(['bytes=1000-', undefined])
  })

  test('starts over if the server ignores ranges', async () => {
    await leave(content.subarray(0, 1_000), { etag: '"one"', total: SIZE })
    answer = serve({ ranged: false })
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
  })

  test('a part that is whole already needs no more than to be checked', async () => {
    await leave(content, { etag: '"one"', total: SIZE })
    answer = serve()
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
  })

  test('a part of another address is not gone on with', async () => {
    await leave(Buffer.from('GGUF, but another'), { url: 'http://127.0.0.1:1/tiny.gguf', etag: '"one"', total: SIZE })
    answer = serve()
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
    expect(ranges()).toEqual([undefined])
  })

  test('redirects are followed', async () => {
    const file = serve()
    answer = (request, response) =>
      request.url === '/tiny.gguf' ? response.writeHead(302, { location: '/elsewhere' }).end() : file(request, response)
    expect((await add(`${base}/tiny.gguf`)).name).toBe('tiny')
  })

  test('retries a busy server, then gives up and leaves the part', async () => {
    await leave(content.subarray(0, 1_000), { etag: '"one"', total: SIZE })
    answer = (_, response) => response.writeHead(503).end()
    await expect(add(`${base}/tiny.gguf`)).rejects.toThrow('503 Service Unavailable. Run the same command again')
    expect(asked).toHaveLength(4)
    expect(await files()).toContain('tiny.gguf.part')
  })

  test('a server that refuses is asked once', async () => {
    answer = (_, response) => response.writeHead(404).end()
    await expect(add(`${base}/tiny.gguf`)).rejects.toThrow('404 Not Found. Check the URL')
    expect(asked).toHaveLength(1)
  })

  test('rejects an HTML page by its first bytes and deletes the part', async () => {
    // It goes on for ever: what is not read to the end is found out at the beginning.
    answer = (_, response) => response.writeHead(200).write('<!doctype html><title>Log in</title>')
    await expect(add(`${base}/tiny.gguf`)).rejects.toThrow('not a GGUF file: it starts with "<!doctype html><"')
    expect(await files()).toEqual([])
  })

  test('rejects a file with another hash and deletes the part', async () => {
    answer = serve()
    await expect(add(`${base}/tiny.gguf`, { sha256: '0'.repeat(64) })).rejects.toThrow(
      `The SHA-256 of the file is ${sha256}`,
    )
    expect(await files()).toEqual([])
    expect((await add(`${base}/tiny.gguf`, { sha256: sha256.toUpperCase() })).sha256).toBe(sha256)
  })

  test('what the disk cannot hold is refused before it is fetched', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-length': 1e15 }).write('GGUF')
    await expect(add(`${base}/tiny.gguf`)).rejects.toThrow('Not enough disk space: 1,000,000,000 MB')
  })

  test('from a path: it is copied, with or without its ending', async () => {
    const source = join(folder, 'tiny')
    await writeFile(source, content)
    expect(await add(source, { sha256 })).toMatchObject({ name: 'tiny', sha256 })
    expect(await addedFile()).toEqual(content)
    expect(await files()).toEqual(['tiny.gguf'])
  })

  test.each([
    ['/no/such/tiny.gguf', {}, '/no/such/tiny.gguf: there is no such file'],
    [tmpdir(), {}, 'That is a folder'],
    ['http://127.0.0.1:1/', {}, 'does not end in a model name'],
    ['http://127.0.0.1:1/..%2F..%2Fx.gguf', {}, 'does not end in a model name'],
    ['tiny.gguf', { sha256: 'abc' }, "'abc' is not a SHA-256"],
  ])('%s is refused as wrong usage (%#)', async (source, more, message) => {
    const error = await add(source, more).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ModelFileError', usage: true, message: expect.stringContaining(message) })
  })

  test('a model that is there already is not replaced', async () => {
    answer = serve()
    await add(`${base}/tiny.gguf`)
    await expect(add(`${base}/tiny.gguf`)).rejects.toThrow("'tiny.gguf' already exists")
    expect(asked).toHaveLength(1)
  })

  test('two commands do not write the same part; one that died does not stand in the way', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-length': SIZE }).write('GGUF')
    const controller = new AbortController()
    const first = add(`${base}/tiny.gguf`, { signal: controller.signal })
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await expect(add(`${base}/tiny.gguf`)).rejects.toThrow(`Process ${process.pid} is adding this model already`)
    controller.abort(new Error('Ctrl-C'))
    await expect(first).rejects.toThrow('Ctrl-C')
    await writeFile(join(folder, 'models', 'tiny.gguf.part.lock'), '4194304999')
    answer = serve()
    expect((await add(`${base}/tiny.gguf`)).sha256).toBe(sha256)
  })
})

/** What a download that was cut off leaves. */
async function leave(part: Buffer, origin: object): Promise<void> {
  await mkdir(join(folder, 'models'))
  const path = join(folder, 'models', 'tiny.gguf.part')
  await writeFile(path, part)
  await writeFile(`${path}.json`, JSON.stringify({ url: `${base}/tiny.gguf`, ...origin }))
}
