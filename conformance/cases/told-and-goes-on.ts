import type { ModelCall, Reply, Runtime } from '../adapter.ts'
import { expect } from '../failure.ts'
import { GRACE_MS } from '../probe.ts'
import { settle } from '../settle.ts'

/** Lets a model make these calls, and sees to it that it hears of them and has the last word. */
export async function toldAndGoesOn(
  run: NonNullable<Runtime['run']>,
  calls: readonly ModelCall[],
  after: string,
): Promise<readonly Reply[]> {
  let told: readonly Reply[] | undefined
  let turns = 0
  const conversation = run((replies) => {
    turns++
    if (turns === 1) return { calls }
    told ??= replies
    return { text: 'the last word' }
  })
  const { value, error } = await settle(conversation, 5 * GRACE_MS, 'The run')
  const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').slice(0, 120) : String(error)
  expect(error === undefined, `The run ended after ${after}: ${reason}`)
  expect(told !== undefined, `After ${after} the run ended without the model being asked again`)
  expect(value?.includes('the last word') === true, `After ${after} the model's last word was lost`)
  const heard: readonly Reply[] = told
  for (const { id } of calls) {
    expect(
      heard.some((reply) => reply.id === id && reply.text !== ''),
      `The model was told nothing of ${after}`,
    )
  }
  return heard
}
