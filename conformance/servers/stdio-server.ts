// An MCP server over stdio, written without an SDK so that its faults are its own.
// stdio-server.ts FOLDER [--mute] [--noisy] [--stays]
//   --mute   reads and never answers
//   --noisy  prints between its messages what does not belong there
//   --stays  goes on when its input has ended, as servers with a timer or an open socket do
import { createInterface } from 'node:readline'
import { note } from '../journal.ts'
import { answer, type Incoming } from './answer.ts'

const [folder = '.', ...flags] = process.argv.slice(2)
const mute = flags.includes('--mute')
const noisy = flags.includes('--noisy')

note(folder, { event: 'start', pid: process.pid })
// Whatever a runtime leaves behind ends by itself one day.
const life = setTimeout(() => process.exit(1), 60_000)
if (!flags.includes('--stays')) life.unref()

const send = (text: string) => process.stdout.write(`${text}\n`)

function sendWithNoise(text: string): void {
  send('[info] request handled in 3 ms')
  send('')
  send('{"level":"debug","msg":"not a message of the protocol"}')
  send(text)
  // Answers to what nobody asked, and half a message.
  send('{"jsonrpc":"2.0","id":987654,"result":{}}')
  send(text)
  send('{"jsonrpc":"2.0","id":')
}

if (noisy) send('Server running on stdio, version 1.0.0 \u2714')

createInterface({ input: process.stdin }).on('line', async (line) => {
  if (mute) return
  const outcome = await answer(JSON.parse(line) as Incoming, folder)
  if (outcome === 'lost') process.exit(1)
  if (outcome === undefined) return
  const text = JSON.stringify(outcome)
  if (noisy) sendWithNoise(text)
  else send(text)
})
