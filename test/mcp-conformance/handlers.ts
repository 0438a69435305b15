import type { Handler } from 'toolyard'

const pause = () => new Promise((resolve) => setTimeout(resolve, 50))

/** The code behind those fixtures of the conformance suite that no mock can be. */
export function fixtureHandlers(change: { tools(): void; prompts(): void }): Readonly<Record<string, Handler>> {
  return {
    fail: () => {
      throw new Error('This tool intentionally returns an error for testing')
    },
    log: async (_params, { report }) => {
      report({ level: 'info', data: 'Tool execution started' })
      await pause()
      report({ level: 'info', data: 'Tool processing data' })
      await pause()
      report({ level: 'info', data: 'Tool execution completed' })
      return 'Logged three lines.'
    },
    progress: async (_params, { report }) => {
      for (const progress of [0, 50, 100]) {
        report({ progress, total: 100 })
        await pause()
      }
      return 'Reported three times.'
    },
    change_tools: () => {
      change.tools()
      return 'Changed.'
    },
    change_prompts: () => {
      change.prompts()
      return 'Changed.'
    },
  }
}
