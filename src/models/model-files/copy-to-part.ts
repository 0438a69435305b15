import { createReadStream, createWriteStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { AddModelOptions } from './add-model-options.ts'
import { requireRoom } from './require-room.ts'

/** Copies a file; what was copied of it before is thrown away, because nothing says what it is a part of. */
export async function copyToPart(source: string, part: string, { signal, onProgress }: AddModelOptions): Promise<void> {
  const { size: total } = await stat(source)
  await rm(part, { force: true })
  await requireRoom(part, total)
  let bytes = 0
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytes += chunk.length
      onProgress?.({ phase: 'fetching', bytes, total })
      yield chunk
    }
  }
  const from = createReadStream(source, { highWaterMark: 1 << 20 })
  await pipeline(from, counted, createWriteStream(part), { ...(signal && { signal }) })
}
