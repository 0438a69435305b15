import { readFile } from 'node:fs/promises'
import { type Cassette, CassetteError, readCassette } from '../../validation/cassettes/cassette.ts'
import { replayCassette } from '../../validation/cassettes/replay-cassette.ts'
import type { GlobalOptions } from '../global-options.ts'
import { printable, printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface RunsReplayOptions extends GlobalOptions {
  readonly loose?: boolean
}

/** `toolyard runs replay`: runs a cassette; 0 where it went as the run did, 1 where not. */
export async function runsReplay(terminal: Terminal, file: string, options: RunsReplayOptions): Promise<number> {
  const cassette = await read(file)
  const mode = options.loose ? 'loose' : 'strict'
  try {
    const { answer, unused } = await replayCassette(cassette, { mode })
    if (terminal.json) terminal.document({ file, mode, same: true, unused, answer })
    else {
      terminal.result(printable(answer.content))
      const counts = `turns: ${cassette.turns.length}, calls: ${answer.tool_calls.length}, not made again: ${unused}`
      terminal.note(`Replayed ${mode === 'strict' ? 'exactly' : 'loosely'} (${counts}).`)
    }
    return 0
  } catch (error) {
    if (!(error instanceof CassetteError)) throw error
    if (terminal.json) terminal.document({ file, mode, same: false, error: error.message })
    else terminal.note(terminal.styleNote('red', printable(error.message)))
    return 1
  }
}

async function read(file: string): Promise<Cassette> {
  try {
    return readCassette(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason =
      error instanceof SyntaxError ? 'It is no JSON' : code === 'ENOENT' ? 'There is no such file' : undefined
    const message = reason ?? (error instanceof Error ? error.message : String(error))
    throw new UsageError(`${printableLine(file)}: ${message}.`, { cause: error })
  }
}
