import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAsync } from 'mqtt'
import { scripted } from 'toolyard/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { switching, testClient, testDevices, testGateway } from './fixtures/house.ts'

/** The program, by TOOLYARD_TEST_MOSQUITTO or in PATH; undefined where it is not installed. */
function mosquitto(): string | undefined {
  const program = process.env.TOOLYARD_TEST_MOSQUITTO || 'mosquitto'
  try {
    execFileSync(program, ['-h'], { stdio: 'ignore', timeout: 5_000 })
    return program
  } catch (error) {
    // It ends with 1 where it shows its help.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : program
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

const program = mosquitto()

test.skipIf(program === undefined)('Mosquitto: a transcript switches a device', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-mosquitto-'))
  const port = await freePort()
  await writeFile(join(folder, 'mosquitto.conf'), `listener ${port} 127.0.0.1\nallow_anonymous true\n`)
  const child = spawn(program ?? '', ['-c', join(folder, 'mosquitto.conf')], { stdio: 'ignore' })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true })
  })
  const url = `mqtt://127.0.0.1:${port}`
  await (await connectAsync(url, { reconnectPeriod: 100 }, true)).endAsync()
  const devices = await testDevices(url)
  const { gateway } = await testGateway(url, scripted(switching('switch one'), 'Switch one is on.'))
  const client = await testClient(url)
  expect(await gateway.start()).toMatchObject({ mqtt: true, mcp: true })
  await client.publish('voice/transcript', 'turn on switch one')
  await vi.waitFor(() => expect(client.texts('voice/response/text')).toEqual(['Switch one is on.']))
  expect(devices.value('switch_one')).toBe(true)
})
