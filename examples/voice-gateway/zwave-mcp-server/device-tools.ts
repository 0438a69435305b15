import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Device, DeviceState } from './device-book.ts'
import { DeviceError } from './device-error.ts'
import type { Command, ZwaveNetwork } from './zwave-network.ts'

const deviceName = z.string().min(1).max(200).describe('The device, by the name that list_devices gives: "switch one".')
const READS = { readOnlyHint: true, openWorldHint: false }
/**
 * Switching twice looks harmless, but a repeat may come after somebody else has switched back: so this is a write, which
 * is never repeated by itself.
 */
const WRITES = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }

/** A dimmer knows 0 to 99, and 255 for the level that it had before it was switched off. */
const FULL = 99
const LAST_LEVEL = 255

/** The MCP server: three tools over the devices of a house. */
export function deviceServer(network: ZwaveNetwork): McpServer {
  const server = new McpServer({ name: 'zwave-mcp-server', version: '1.0.0' })

  server.registerTool(
    'control_zwave_device',
    {
      description:
        'Turn a Z-Wave device on or off, or set the level of a dimmer. Use it when the user wants a light, switch or ' +
        'plug switched. It answers when the device has confirmed.',
      inputSchema: z
        .object({
          deviceName,
          action: z.enum(['on', 'off', 'level']).describe('"level" is for dimmers, and needs the parameter level.'),
          level: z.number().int().min(0).max(100).optional().describe('In percent, for the action "level".'),
        })
        .strict(),
      annotations: WRITES,
    },
    ({ deviceName, action, level }, { mcpReq }) =>
      told(async () => {
        const device = found(network, deviceName)
        const command = commandFor(device, action, level)
        await network.command(device, { ...command, signal: mcpReq.signal })
        return `${stated(network.book.state(device))}.`
      }),
  )
  server.registerTool(
    'list_devices',
    {
      description: 'List all Z-Wave devices of the house with their state. Use it to find out what a device is called.',
      inputSchema: z.object({}).strict(),
      annotations: READS,
    },
    () =>
      told(async () => {
        const devices = network.book.list().map(stated)
        return devices.length === 0
          ? 'No device has reported itself yet.'
          : `${devices.join(', ')}.${staleness(network)}`
      }),
  )
  server.registerTool(
    'get_device_state',
    {
      description:
        'Ask about the state of a Z-Wave device, without changing it: is the light on or off, how bright is the lamp?',
      inputSchema: z.object({ deviceName }).strict(),
      annotations: READS,
    },
    ({ deviceName }) =>
      told(async () => `${stated(network.book.state(found(network, deviceName)))}.${staleness(network)}`),
  )
  return server
}

function found({ book }: ZwaveNetwork, name: string): Device {
  const device = book.find(name)
  if (typeof device === 'string') throw new DeviceError(device)
  return device
}

function commandFor({ kind, name }: Device, action: 'on' | 'off' | 'level', level?: number): Command {
  if (action === 'level' && level === undefined) {
    throw new DeviceError('The action "level" needs the parameter level, from 0 to 100.')
  }
  if (action === 'level' && kind === 'switch') {
    throw new DeviceError(`${name} is a switch, not a dimmer: it can only be "on" or "off".`)
  }
  // "Turn the lamp on at 30 percent" is a level too.
  if (kind === 'dimmer' && action !== 'off' && level !== undefined) {
    const value = level === 100 ? FULL : level
    return { value, confirms: (reported) => reported === value }
  }
  const on = action === 'on'
  const value = kind === 'switch' ? on : on ? LAST_LEVEL : 0
  return { value, confirms: (reported) => Number(reported) > 0 === on }
}

/** A sentence, because it may be spoken as it is. */
function stated({ name, location, state, level, available }: DeviceState): string {
  const called = location === undefined ? name : `${location} ${name}`
  const how =
    state === 'on' && level !== undefined
      ? `on at ${level} percent`
      : state === 'unknown'
        ? 'in an unknown state'
        : state
  return `${called} is ${how}${available === false ? ' (not available)' : ''}`
}

/** What was reported before the broker went away may be old. */
const staleness = ({ connected }: ZwaveNetwork): string =>
  connected ? '' : ' The MQTT broker is away: this is what was known before.'

async function told(work: () => Promise<string>) {
  try {
    return { content: [{ type: 'text' as const, text: await work() }] }
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error
    return { content: [{ type: 'text' as const, text: error.message }], isError: true }
  }
}
