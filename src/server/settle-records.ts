import type { Installation } from '../config/installation.ts'

/** How long a question waits for the newest records: a store that lags is asked for what it has. */
const PATIENCE_MS = 2_000

/** Waits until the calls that have been answered are on record, so that who asks next finds them. */
export async function settleRecords({ manager, sink, clock }: Installation): Promise<void> {
  manager.getExecutor().flush()
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const callOff = clock.after(PATIENCE_MS, resolve)
  await Promise.race([sink.flush(), late])
  callOff()
}
