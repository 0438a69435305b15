import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { ping, tool } from '../probe.ts'
import { toldAndGoesOn } from './told-and-goes-on.ts'

export const oneOfTwoThrows: Case = {
  id: 'one-of-two-throws',
  title: 'A tool that throws fails only its own call',
  why: 'One tool of the turn fails, and the results of the others are discarded.',
  thread: 'langchain-ai/deepagentsjs#485',
  needs: ['loop'],
  async run(probe) {
    const broken = tool('broken', async () => {
      throw new Error('the disk is full')
    })
    const runtime = await probe.start({ tools: [ping, broken] })
    const calls = [
      { id: 'call_1', name: 'ping', arguments: '{}' },
      { id: 'call_2', name: 'broken', arguments: '{}' },
    ]
    const told = await toldAndGoesOn(probe.loopOf(runtime), calls, 'a tool that threw')
    const pong = told.find(({ id }) => id === 'call_1')?.text ?? ''
    expect(pong.includes('pong'), `The result of the other call was lost: the model was told "${pong.slice(0, 80)}"`)
  },
}
