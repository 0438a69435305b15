import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FastifyInstance, fastify } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { guideRoutes, pageRoutes } from './page-routes.ts'

let folder: string
let app: FastifyInstance

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolyard-page-'))
  app = fastify()
  await app.register(guideRoutes, { prefix: '/guide', folder: join(folder, 'guide') })
  await app.register((routes) => pageRoutes(routes, folder))
})
afterEach(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

function build(): void {
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<title>Toolyard</title>')
  writeFileSync(join(folder, 'assets/index-Ab3_-x9Z.js'), 'plain')
  writeFileSync(join(folder, 'assets/index-Ab3_-x9Z.js.br'), 'pressed')
  writeFileSync(join(folder, 'assets/theme.js'), 'theme')
  writeFileSync(join(folder, 'secret.txt'), 'not for browsers')
}

const ADDRESSES = ['/', '/tool/get_weather', '/tools-testing', '/models', '/runs/7']

test('without a built web UI explains how to build it, and serves it once it exists', async () => {
  for (const url of ADDRESSES) {
    const answer = await app.inject(url)
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.body).toContain('<code>npm start</code> builds it')
  }
  build()
  for (const url of ADDRESSES) {
    const answer = await app.inject(url)
    expect([url, answer.statusCode, answer.body]).toEqual([url, 200, '<title>Toolyard</title>'])
  }
})

test('the web UI loads from its own server only, and runs no inline code', async () => {
  build()
  const policy = String((await app.inject('/')).headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
  expect(policy).not.toMatch(/unsafe|https?:|\*/)
  expect(policy).toContain("img-src 'self' data:; media-src data:;")
  expect(policy).toContain("frame-ancestors 'none'")
})

test('files with a hash in their name are cached, others are revalidated', async () => {
  build()
  const kept = async (url: string) => (await app.inject(url)).headers['cache-control']
  expect(await kept('/assets/index-Ab3_-x9Z.js')).toBe('public, max-age=31536000, immutable')
  expect(await kept('/assets/theme.js')).toBe('no-cache')
})

test('sends precompressed files to clients that accept them', async () => {
  build()
  const url = '/assets/index-Ab3_-x9Z.js'
  const pressed = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } })
  expect([pressed.body, pressed.headers['content-encoding']]).toEqual(['pressed', 'br'])
  expect(pressed.headers['content-type']).toMatch(/javascript/)
  expect(pressed.headers['cache-control']).toContain('immutable')
  expect((await app.inject(url)).body).toBe('plain')
})

test('nothing outside of the assets can be had', async () => {
  build()
  for (const url of ['/assets/../secret.txt', '/assets/..%2fsecret.txt', '/assets/%2e%2e/secret.txt', '/secret.txt']) {
    const answer = await app.inject(url)
    expect([url, answer.statusCode, answer.body.includes('not for browsers')]).toEqual([url, 404, false])
  }
})

describe('/guide', () => {
  function buildGuide(): void {
    mkdirSync(join(folder, 'guide/start'), { recursive: true })
    mkdirSync(join(folder, 'guide/assets'))
    writeFileSync(join(folder, 'guide/index.html'), '<title>Docs</title>')
    writeFileSync(join(folder, 'guide/404.html'), '<title>404</title>')
    writeFileSync(join(folder, 'guide/start/install.html'), '<title>Install</title>')
    writeFileSync(join(folder, 'guide/assets/app.Ab3_-x9Z.js'), 'script')
    writeFileSync(join(folder, 'secret.txt'), 'not for browsers')
  }

  test('serves the sources of the docs, and says how to build the site, if it is not built', async () => {
    for (const [url, status, content] of [
      ['/guide/', 200, '<a href="start/install.md">Install</a>'],
      ['/guide/start/install.html', 200, '# Install\n'],
      ['/guide/start/team.md?a=b', 200, '<a href="first-tool.md">the first page</a>'],
      ['/guide/start/nothing', 404, 'There is no such page'],
      ['/guide/..%2fREADME', 404, 'There is no such page'],
    ] as const) {
      const answer = await app.inject(url)
      expect([url, answer.statusCode, answer.headers['content-type']]).toEqual([
        url,
        status,
        'text/html; charset=utf-8',
      ])
      expect(answer.body).toContain(content)
      expect(answer.body).toMatch(/run\s<code>npm run docs<\/code>/)
    }
  })

  test('serves the site with and without .html, and its own page for unknown paths', async () => {
    buildGuide()
    expect((await app.inject('/guide')).headers.location).toBe('/guide/')
    for (const [path, status, body] of [
      ['', 200, '<title>Docs</title>'],
      ['start/install', 200, '<title>Install</title>'],
      ['start/install.html', 200, '<title>Install</title>'],
      ['start/', 404, '<title>404</title>'],
      ['start/nothing', 404, '<title>404</title>'],
    ]) {
      const answer = await app.inject(`/guide/${path}`)
      expect([path, answer.statusCode, answer.body]).toEqual([path, status, body])
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    }
  })

  test('loads from its own server only, and runs no inline scripts', async () => {
    buildGuide()
    for (const path of ['', 'start/install', 'nothing']) {
      const policy = String((await app.inject(`/guide/${path}`)).headers['content-security-policy'])
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';")
      expect(policy).toContain("font-src 'self'; connect-src 'self'; frame-ancestors 'none'")
      expect(policy).not.toMatch(/https?:|\*/)
    }
  })

  test('caches files with a hash in their name', async () => {
    buildGuide()
    const kept = async (path: string) => (await app.inject(`/guide/${path}`)).headers['cache-control']
    expect(await kept('assets/app.Ab3_-x9Z.js')).toBe('public, max-age=31536000, immutable')
    expect(await kept('start/install')).toBe('no-cache')
  })

  test('serves nothing outside of its folder', async () => {
    buildGuide()
    for (const path of ['../secret.txt', '..%2fsecret.txt', '%2e%2e/secret.txt', '..%5csecret.txt', '%2fetc/passwd']) {
      const answer = await app.inject(`/guide/${path}`)
      expect([path, answer.statusCode >= 400, answer.body.includes('not for')]).toEqual([path, true, false])
    }
  })
})
