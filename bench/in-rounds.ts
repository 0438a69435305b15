/** What was found for one contender, round by round. */
export interface Measured<Each, Result> {
  readonly contender: Each
  readonly rounds: readonly Result[]
}

/** Each round measures every contender once, so that a slow minute of the machine falls on all of them. */
export async function inRounds<Each extends { readonly id: string }, Result>(
  contenders: readonly Each[],
  rounds: number,
  progress: (line: string) => void,
  measure: (contender: Each) => Promise<Result>,
): Promise<Measured<Each, Result>[]> {
  const measured = contenders.map((contender) => ({ contender, rounds: [] as Result[] }))
  for (let round = 1; round <= rounds; round++) {
    for (const each of measured) {
      progress(`round ${round} of ${rounds}: ${each.contender.id}`)
      each.rounds.push(await measure(each.contender))
    }
  }
  return measured
}
