import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium } from 'playwright-core'
import { launchOptions } from '../browser/browser-window.ts'
import { startPostgres } from './start-postgres.ts'

const VARIABLE = 'TOOLYARD_TEST_SERVICES'

/** A program that all test files of a run share. */
interface Service {
  readonly url: string
  stop(): Promise<void>
}

const SERVICES: Readonly<Record<string, () => Promise<Service>>> = { postgres: () => startPostgres(), chromium: launch }

/** The address of a shared service, which the first test that asks for it starts. It ends with the test run. */
export async function sharedService(name: 'postgres' | 'chromium'): Promise<string> {
  const services = process.env[VARIABLE]
  if (services === undefined) throw new Error(`${VARIABLE} is not set: tests that share a ${name} run in vitest only.`)
  const response = await fetch(`${services}/${name}`)
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}

/** Vitest calls this before the first test, once for each project: only the first call starts anything. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[VARIABLE] !== undefined) return undefined
  const started = new Map<string, Promise<Service>>()
  const server = createServer(async (request, response) => {
    const name = request.url?.slice(1) ?? ''
    const service = started.get(name) ?? SERVICES[name]?.()
    if (service !== undefined) started.set(name, service)
    try {
      response.end((await service)?.url)
    } catch (error) {
      response.writeHead(500).end(error instanceof Error ? error.message : String(error))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  process.env[VARIABLE] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return async () => {
    delete process.env[VARIABLE]
    server.closeAllConnections()
    server.close()
    const services = await Promise.allSettled(started.values())
    await Promise.all(services.map((service) => service.status === 'fulfilled' && service.value.stop()))
  }
}

async function launch(): Promise<Service> {
  const server = await chromium.launchServer({ ...(await launchOptions()), host: '127.0.0.1' })
  return { url: server.wsEndpoint(), stop: () => server.close() }
}
