/**
 * An MCP server over stdio for the devices behind Z-Wave JS UI: `node main.ts`, with MQTT_URL, ZWAVE_PREFIX and
 * ZWAVE_CONFIRM_MS in its environment. stdout carries the protocol; everything else is on stderr.
 */
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { DeviceError } from './device-error.ts'
import { deviceServer } from './device-tools.ts'
import { ZwaveNetwork } from './zwave-network.ts'

const log = (line: string): void => console.error(`zwave-mcp-server: ${line}`)

function confirmMs(text = '5000'): number {
  const ms = Number(text)
  if (Number.isInteger(ms) && ms >= 100 && ms <= 25_000) return ms
  throw new DeviceError(`ZWAVE_CONFIRM_MS must be an integer from 100 to 25000, not ${JSON.stringify(text)}`)
}

try {
  const { MQTT_URL: url = 'mqtt://127.0.0.1:1883', ZWAVE_PREFIX: prefix = 'zwave', ZWAVE_CONFIRM_MS } = process.env
  const network = await ZwaveNetwork.open({ url, prefix, confirmMs: confirmMs(ZWAVE_CONFIRM_MS), log })
  log(`${network.book.size} devices known`)
  // Who started us has gone.
  process.stdin.once('close', () => process.exit(0))
  await deviceServer(network).connect(new StdioServerTransport())
} catch (error) {
  log(error instanceof DeviceError ? error.message : String(error))
  process.exit(1)
}
