/** Why a runtime does not pass a case, in a sentence. */
export class Failure extends Error {}

/** Ends the case where the condition does not hold. */
export function expect(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new Failure(reason)
}
