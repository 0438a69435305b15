import type { CallEntry } from '../../src/core/storage/ledger.ts'
import type { StoredRun } from '../../src/core/storage/run-store.ts'
import type { ToolErrorCode } from '../../src/core/tool-result.ts'
import { chainRow } from '../../src/storage/ledger/chain-row.ts'
import type { ChainRow } from '../../src/storage/ledger/ledger-tables.ts'

export const TENANTS = 20
export const TOOLS = 50
export const MODELS = ['openai:gpt-4o', 'anthropic:claude-sonnet-4-5', 'google:gemini-2.5-pro', 'ollama:llama3.2:3b']
/** How many calls a run makes. */
export const CALLS_OF_RUN = 10

const CODES: readonly ToolErrorCode[] = ['EXECUTION_ERROR', 'TIMEOUT', 'INVALID_PARAMETERS', 'SERVICE_UNAVAILABLE']
const SCHEMA_HASH = 'a3'.repeat(32)

/** Pseudorandom, and the same at every run: from 0 up to 1. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One run of some tenant's model, with the calls that it asked for: times spread over decades, one in thirty fails. */
export function runOf(number: number, at: number, next: () => number): { run: StoredRun; calls: CallEntry[] } {
  const pick = (count: number) => Math.floor(next() * count)
  const tenant = `tenant_${pick(TENANTS)}`
  const model = MODELS[pick(MODELS.length)] as string
  const id = `run_${number}`
  const calls = Array.from({ length: CALLS_OF_RUN }, (): CallEntry => {
    const code = next() < 1 / 30 ? (CODES[pick(CODES.length)] as ToolErrorCode) : null
    return {
      at,
      tenant,
      caller: `caller_${pick(40)}`,
      source: 'chat',
      runId: id,
      tool: `tool_${pick(TOOLS)}`,
      model,
      schemaHash: SCHEMA_HASH,
      params: `{"location":"Place ${pick(40)}","units":"celsius"}`,
      code,
      unknown: false,
      durationMs: 10 ** (next() * 3.5),
      attempts: 1,
    }
  })
  const run: StoredRun = {
    id,
    tenant,
    caller: null,
    model,
    service: '',
    started_at: new Date(at).toISOString(),
    duration_ms: 10 ** (2 + next() * 2.5),
    stop_reason: next() < 0.02 ? 'max_iterations' : 'answered',
    iterations: 1 + pick(10),
    tool_calls: CALLS_OF_RUN,
    prompt_tokens: pick(5_000),
    completion_tokens: pick(1_000),
    cost: next() / 100,
    error: null,
    question: '',
    answer: '',
    steps: [],
  }
  return { run, calls }
}

/** A call as its row would be; the hash of its parameters has the right length only. */
export const chainRowOf = (call: CallEntry): ChainRow =>
  chainRow(call, { chain: '', seq: 0, before: '' }, (params) => params.replace(/\D/g, '').padStart(64, '0'))
