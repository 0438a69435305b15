import type { Command } from 'commander'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import { asText } from '../common/call.ts'
import { readConfig, shippedConfig, startManager } from '../common/open.ts'
import { actions, type Done, type GlobalOptions, type Terminal } from '../common/terminal.ts'

export function defineDemo(demo: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  demo.action(run(runDemo))
}

interface Step {
  readonly says: string
  readonly tool: string
  readonly params: Params
}

/** A tool whose service never answers; only the demo has it. */
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
    says: 'An expression runs in a separate process, which can be stopped.',
    tool: 'calculate',
    params: { expression: '45 * 15 / 100' },
  },
  { says: 'What time is it in Tokyo?', tool: 'datetime', params: { operation: 'now', timezone: 'Asia/Tokyo' } },
  {
    says: 'Invalid parameters: the tool does not run, and the error names every problem.',
    tool: 'get_weather',
    params: { units: 'kelvin' },
  },
  { says: 'An unknown tool: the error suggests similar names.', tool: 'get_wether', params: {} },
  { says: 'A service that never answers: the call times out.', tool: 'silent_service', params: {} },
]

const NEXT = [
  ['npx toolyard tools', 'list the tools'],
  ['npx toolyard exec get_weather location=Zurich', 'run a tool yourself'],
  [`npx toolyard exec calculate '{"expression":"sqrt(2)"}' --json`, 'the JSON envelope, for programs'],
  [`npx toolyard chat "What's the weather in Zurich?"`, 'ask a model that can use the tools'],
  ['npx toolyard --help', 'all other commands'],
] as const

/** `toolyard demo`: six calls that succeed or fail in different ways. */
async function runDemo(terminal: Terminal, options: GlobalOptions): Promise<number> {
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
    else showNext(terminal)
    return 0
  } finally {
    await manager.close()
  }
}

function introduce(terminal: Terminal): void {
  terminal.result(terminal.style('bold', 'Toolyard runs tools for AI models.'))
  terminal.result('It validates, times out and records every call, and returns a JSON envelope. Six examples:')
}

function announce(terminal: Terminal, number: number, { says, tool, params }: Step): void {
  terminal.result(`\n${terminal.style('bold', `${number}. ${says}`)}`)
  terminal.result(`   ${tool} ${JSON.stringify(params)}`)
}

function showNext(terminal: Terminal): void {
  terminal.result(`\n${terminal.style('bold', 'Try next:')}`)
  const width = Math.max(...NEXT.map(([command]) => command.length))
  for (const [command, what] of NEXT) terminal.result(`   ${command.padEnd(width)}   ${terminal.style('dim', what)}`)
}

const indented = (text: string): string => text.replace(/^/gm, '   ')
