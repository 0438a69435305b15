import type { Params, ToolDefinition } from '../../core/tool.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { GlobalOptions } from '../global-options.ts'
import { readConfig, shippedConfig, startManager } from '../open.ts'
import { asText } from '../show-result.ts'
import type { Terminal } from '../terminal.ts'

interface Step {
  readonly says: string
  readonly tool: string
  readonly params: Params
}

/** A tool of the demonstration only: its service never answers. */
const SILENT_SERVICE: ToolDefinition = {
  name: 'silent_service',
  description: 'Asks a service that never answers.',
  parameters: { type: 'object', properties: {} },
  implementation: { type: 'internal', handler: 'silent_service' },
  timeout_ms: 500,
}

const STEPS: readonly Step[] = [
  { says: 'A tool answers.', tool: 'get_weather', params: { location: 'Paris' } },
  {
    says: 'An expression is worked out in a process of its own, which can be stopped.',
    tool: 'calculate',
    params: { expression: '45 * 15 / 100' },
  },
  { says: 'What time is it in Tokyo?', tool: 'datetime', params: { operation: 'now', timezone: 'Asia/Tokyo' } },
  {
    says: 'Wrong parameters: nothing runs, and the answer says what is wrong with each of them.',
    tool: 'get_weather',
    params: { units: 'kelvin' },
  },
  { says: 'A tool that does not exist: the nearest names are suggested.', tool: 'get_wether', params: {} },
  { says: 'A service that never answers: the call ends at its deadline.', tool: 'silent_service', params: {} },
]

const NEXT = [
  ['npx toolyard tools', 'the tools that there are'],
  ['npx toolyard exec get_weather location=Zurich', 'a call of your own'],
  [`npx toolyard exec calculate '{"expression":"sqrt(2)"}' --json`, 'the envelope, for programs'],
  [`npx toolyard chat "What's the weather in Zurich?"`, 'a model that may use the tools'],
  ['npx toolyard --help', 'everything else'],
] as const

/** `toolyard demo`: a few calls and what comes of them, good and bad. */
export async function demo(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const config = await readConfig(shippedConfig)
  const registry = [...(config.tools?.registry ?? []), SILENT_SERVICE]
  const handlers = new ToolHandlers()
  handlers.register('silent_service', () => new Promise(() => {}), { effect: 'read' })
  const { manager } = await startManager(terminal, { ...config, tools: { ...config.tools, registry } }, options, {
    handlers,
  })
  try {
    const calls = []
    if (!terminal.json) introduce(terminal)
    for (const [index, step] of STEPS.entries()) {
      if (!terminal.json) announce(terminal, index + 1, step)
      const result = await manager.getExecutor().execute(step.tool, step.params, { source: 'cli' })
      calls.push({ tool: step.tool, params: step.params, result })
      if (!terminal.json) terminal.result(terminal.style(result.success ? 'green' : 'yellow', indented(asText(result))))
    }
    if (terminal.json) terminal.document({ calls })
    else takeLeave(terminal)
    return 0
  } finally {
    await manager.close()
  }
}

function introduce(terminal: Terminal): void {
  terminal.result(terminal.style('bold', 'Toolyard runs tools for AI models.'))
  terminal.result('Every call is validated, bounded in time and recorded, and ends in an envelope. Six of them:')
}

function announce(terminal: Terminal, number: number, { says, tool, params }: Step): void {
  terminal.result(`\n${terminal.style('bold', `${number}. ${says}`)}`)
  terminal.result(`   ${tool} ${JSON.stringify(params)}`)
}

function takeLeave(terminal: Terminal): void {
  terminal.result(`\n${terminal.style('bold', 'Try next:')}`)
  const width = Math.max(...NEXT.map(([command]) => command.length))
  for (const [command, what] of NEXT) terminal.result(`   ${command.padEnd(width)}   ${terminal.style('dim', what)}`)
}

const indented = (text: string): string => text.replace(/^/gm, '   ')
