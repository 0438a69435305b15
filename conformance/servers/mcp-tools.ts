import { setTimeout as sleep } from 'node:timers/promises'
import { note, readJournal } from '../journal.ts'

const empty = { type: 'object', properties: {} }

/** The tools of the servers, as `tools/list` names them. */
export const listedTools = [
  {
    name: 'echo',
    description: 'Gives back its text.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
  },
  { name: 'slow', description: 'Takes 700 ms.', inputSchema: empty, annotations: { readOnlyHint: true } },
  { name: 'hang', description: 'Never answers.', inputSchema: empty, annotations: { readOnlyHint: true } },
  {
    name: 'hang_once',
    description: 'Does not answer the first call, but every later one.',
    inputSchema: empty,
    annotations: { readOnlyHint: true },
  },
  {
    name: 'transfer',
    description: 'Moves money, and loses the connection before it can say so.',
    inputSchema: empty,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  },
]

/** What a call gives: a text, `undefined` for never, or `lost` where the connection is to be cut. */
export async function runTool(
  name: string,
  params: Record<string, unknown>,
  folder: string,
): Promise<{ text: string } | 'lost' | undefined> {
  const again = readJournal(folder).some(({ tool }) => tool === name)
  note(folder, { event: 'call', pid: process.pid, tool: name })
  if (name === 'echo') return { text: `echo: ${params.text}` }
  if (name === 'slow') {
    await sleep(700)
    return { text: 'slow: done' }
  }
  if (name === 'hang_once' && again) return { text: 'here again' }
  if (name === 'transfer') {
    note(folder, { event: 'write', pid: process.pid })
    return 'lost'
  }
  return undefined
}
