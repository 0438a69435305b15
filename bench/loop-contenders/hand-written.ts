import { handWrittenLoop } from '../hand-written-loop.ts'
import type { LoopContender } from '../loop-contender.ts'

/** The hand-written loop against itself: how far its ratio is from 1 is the noise of the whole method. */
export const handWritten: LoopContender = {
  id: 'loop-hand-written',
  name: 'hand-written, against itself',
  call: 'for await, JSON.parse, Ajv, Promise.all',
  prepare: async (shape, handler) => handWrittenLoop(shape, handler),
}
