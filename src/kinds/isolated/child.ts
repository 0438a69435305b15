/** The program of an isolated process: takes one call at a time from its parent, and ends with it. */
import { Socket } from 'node:net'
import type { Handler } from '../../core/handler.ts'
import { isDeep } from '../../core/json-depth.ts'
import { ChildCall } from './child-call.ts'
import { LineReader } from './line-reader.ts'
import { lockDown } from './lock-down.ts'
import {
  type CallMessage,
  type ChildMessage,
  MAX_MESSAGE_BYTES,
  MAX_MESSAGE_DEPTH,
  MAY_HAVE_HAPPENED,
  type ParentMessage,
} from './protocol.ts'
import { takeOverOutput } from './take-over-output.ts'
import { type Thrown, thrown } from './thrown.ts'

const parent = new Socket({ fd: 3, readable: true, writable: true })
const handlers = new Map<string, Handler>()
let current: ChildCall | undefined

const send = (message: ChildMessage): void => void parent.write(`${JSON.stringify(message)}\n`)

/** Timers, requests and the like that would run on into the next call. */
const isClean = (): boolean => process.getActiveResourcesInfo().every((resource) => resource === 'PipeWrap')

async function load(call: CallMessage): Promise<Handler> {
  const key = `${call.export} ${call.module}`
  const known = handlers.get(key)
  if (known !== undefined) return known
  const handler = (await import(call.module))[call.export]
  if (typeof handler !== 'function') throw new TypeError(`${call.module} exports no such function`)
  handlers.set(key, handler)
  return handler
}

function answer(call: ChildCall, value: unknown): void {
  let line: string
  try {
    line = JSON.stringify({ type: 'done', id: call.id, value, ...(isClean() ? {} : { retire: true }) })
  } catch (error) {
    useless(call, `the result cannot be written as JSON: ${thrown(error).message}`)
    return
  }
  if (Buffer.byteLength(line) > MAX_MESSAGE_BYTES) {
    useless(call, `the result has more than ${MAX_MESSAGE_BYTES} bytes`, 'RESULT_TOO_LARGE')
    return
  }
  if (isDeep(line, MAX_MESSAGE_DEPTH)) {
    useless(call, `the result is nested more than ${MAX_MESSAGE_DEPTH} deep`)
    return
  }
  current = undefined
  parent.write(`${line}\n`)
}

/** The handler has done its work, and nothing can be done with what it gave. */
function useless(call: ChildCall, message: string, code = 'EXECUTION_ERROR'): void {
  fail(call, { message, code, ...MAY_HAVE_HAPPENED })
}

function fail(call: ChildCall, error: Thrown & { detail?: string; outcome?: 'unknown' }): void {
  current = undefined
  send({ type: 'failed', id: call.id, ...error, ...(isClean() ? {} : { retire: true }) })
}

async function take(message: CallMessage): Promise<void> {
  const call = new ChildCall(message, (note) => {
    if (current === call) send(note)
  })
  current = call
  let handler: Handler
  try {
    handler = await load(message)
  } catch (error) {
    const { message: detail, code } = thrown(error)
    const why = code === undefined ? '' : ` (${code})`
    return fail(call, { message: `Handler "${message.export}" could not be loaded${why}`, detail })
  }
  try {
    const value = await handler(message.params as Parameters<Handler>[0], call.context)
    if (current === call) answer(call, value)
  } catch (error) {
    if (current === call) fail(call, thrown(error))
  }
}

function hear(message: ParentMessage): void {
  // A module that cannot be loaded is told of by the call that needs it.
  if ('prepare' in message) import(message.prepare).catch(() => {})
  else void take(message)
}

process.on('uncaughtException', (error) => {
  if (current === undefined) process.exit(1)
  const how = thrown(error)
  // A code says more: whether a connection was ever there, for one.
  const outcome = how.code === undefined ? MAY_HAVE_HAPPENED : {}
  send({ type: 'failed', id: current.id, ...how, retire: true, ...outcome })
  current = undefined
})

lockDown()
takeOverOutput((stream, text) => current?.output(stream, text))
const lines = new LineReader(
  Number.POSITIVE_INFINITY,
  (line) => hear(JSON.parse(line)),
  () => {},
)
parent.on('data', (chunk: Buffer) => lines.push(chunk))
parent.on('error', () => process.exit())
parent.on('close', () => process.exit())
send({ type: 'ready' })
