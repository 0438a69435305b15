import type { Runtime } from './adapter.ts'

/** One call for runtimes that run tools in their loop only: a model that asks for it once and then stops. */
export function callThroughLoop(run: NonNullable<Runtime['run']>): Runtime['call'] {
  return async (name, args, options) => {
    let told: string | undefined
    let turns = 0
    await run((replies) => {
      turns++
      if (turns === 1) return { calls: [{ id: 'call_1', name, arguments: args }] }
      told = replies.map(({ text }) => text).join('\n')
      return { text: 'done' }
    }, options)
    if (told === undefined) throw new Error(`the run ended, and the model never heard of its call of '${name}'`)
    return told
  }
}
