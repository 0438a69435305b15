import type { Clock } from '../../core/clock.ts'

/** What is refused is refused within this time; a model that takes longer to begin is at work. */
const WAIT_MS = 1_000

/** Events of which the first has been asked for. */
export interface Begun<Event> {
  readonly first: Promise<IteratorResult<Event, void>>
  /** The first event, where it is there already. */
  readonly early: Event | undefined
}

/**
 * Begins with events, and waits for the first, but not for ever: where they fail at once, that can still be answered
 * with a status. Rejects with what they failed with.
 */
export async function begun<Event>(
  events: AsyncGenerator<Event, void, undefined>,
  clock: Clock,
): Promise<Begun<Event>> {
  const first = events.next()
  const { promise: waited, resolve } = Promise.withResolvers<undefined>()
  const callOff = clock.after(WAIT_MS, () => resolve(undefined))
  try {
    const early = await Promise.race([first, waited])
    return { first, early: early?.done === false ? early.value : undefined }
  } finally {
    callOff()
  }
}
