import { randomUUID } from 'node:crypto'
import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { Message, ToolCall } from '../models/model.ts'
import { CallBatch } from './call-batch.ts'
import { CallGuard } from './call-guard.ts'
import type { RunEvent, TrackedCall } from './run.ts'
import { NOBODY } from './run-observer.ts'
import { isRefusal, ToolRefusedError } from './tool-refused-error.ts'

const UNREADABLE = '…'

/** A call that the caller asked for, and what the model reads of it: as if it had made the call itself. */
export interface FirstCall {
  readonly tracked: TrackedCall
  readonly messages: readonly Message[]
}

/** Runs a tool before any model is asked. Throws a `ToolRefusedError`; a tool that failed while it ran is an answer. */
export async function* firstCall(
  executor: ToolExecutor,
  tool: { readonly name: string; readonly params: unknown },
  context: CallContext,
  tell: boolean,
): AsyncGenerator<RunEvent, FirstCall, undefined> {
  const call: ToolCall = {
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name: tool.name, arguments: textOf(tool.params) },
  }
  const turn = { context, guard: new CallGuard(), iteration: 0, tell, observers: NOBODY }
  const batch = new CallBatch(executor, turn, [call])
  for (let event = await batch.next(1); event !== undefined; event = await batch.next(1)) {
    if (event.type === 'call-result') refuse(event.call)
    yield event
  }
  const [tracked] = batch.tracked as [TrackedCall]
  refuse(tracked)
  const content = JSON.stringify(tracked.result)
  return {
    tracked,
    messages: [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, name: tool.name, content },
    ],
  }
}

function refuse({ result }: TrackedCall): void {
  if (isRefusal(result)) throw new ToolRefusedError(result)
}

function textOf(params: unknown): string {
  try {
    return JSON.stringify(params === undefined ? {} : params) ?? UNREADABLE
  } catch {
    // Nested too deeply, or no JSON at all: the executor refuses this text with a sentence.
    return UNREADABLE
  }
}
