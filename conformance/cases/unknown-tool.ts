import type { Case } from '../case.ts'
import { ping } from '../probe.ts'
import { toldAndGoesOn } from './told-and-goes-on.ts'

export const unknownTool: Case = {
  id: 'unknown-tool',
  title: 'A call of an unknown tool is reported to the model, and the run continues',
  why: 'The model makes up a name, and the user gets an exception instead of an answer.',
  thread: 'langchain-ai/langchainjs#9843',
  needs: ['loop'],
  async run(probe) {
    const runtime = await probe.start({ tools: [ping] })
    const call = { id: 'call_1', name: 'pong_server', arguments: '{}' }
    await toldAndGoesOn(probe.loopOf(runtime), [call], 'a call for an unknown tool')
  },
}
